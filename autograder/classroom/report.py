"""`python -m autograder report ASSIGNMENT`: a page about the class: which exercise, which diagnosis, how many.

What to teach again tomorrow comes first. One HTML file without scripts; what learners wrote is escaped. Whose
submission could not be graded is named at its end and counted nowhere else.
"""
from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from autograder.classroom.course import Course, Refused, disk_trouble
from autograder.classroom.marks import ExerciseMark, LearnerMarks, class_marks, counted
from autograder.classroom.sealed.outcomes import ERROR, INFRASTRUCTURE, LIMIT, RIGHT

AGAIN = 5  # reasons at the top of the page
SENTENCE = 160  # characters of a reason that are shown unopened
_IN_WORDS = {"": "marked by hand", INFRASTRUCTURE: "marked by hand", ERROR: "with an error",
             LIMIT: "stopped at a limit"}
_LETTER = re.compile(r"([A-Z]) is (?:not )?right\.")  # how the verdict on a question begins
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .6rem;vertical-align:top;
border-bottom:1px solid #8884}.n{text-align:right;white-space:nowrap}.bar{background:#0072B2;height:.8rem}
.bar.wrong{background:#D55E00}pre{white-space:pre-wrap}code{font-size:.9em}summary{cursor:pointer}h3{margin-bottom:.2rem}a{color:inherit}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment")
    parser.add_argument("--to", type=Path, metavar="FILE", help="default: report-ASSIGNMENT.html")


def run(arguments: argparse.Namespace) -> int:
    try:
        most, learners = class_marks(Course(Path.cwd()), arguments.assignment)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    target = arguments.to or Path(f"report-{arguments.assignment}.html")
    try:
        target.write_text(page(arguments.assignment, most, learners), encoding="utf-8")
    except OSError as error:
        print(disk_trouble(error, target), file=sys.stderr)
        return 1
    graded = [one for one in learners if not one.not_graded]
    print(f"{target}: {counted(len(graded), 'learner')}.")
    for line in again(graded)[:AGAIN]:
        print(f"  {line.count:4} of {len(graded)}  {line.exercise}: {line.diagnosis}: {line.sentence}")
    for one in learners:
        if one.not_graded:
            print(f"Not graded: {one.student}: {one.not_graded}")
    return 0


@dataclass(frozen=True)
class Reason:
    """A diagnosis of an exercise, whom it was given to, and the message of the first of them."""

    exercise: str
    diagnosis: str
    students: tuple[str, ...]
    message: str

    @property
    def count(self) -> int:
        return len(self.students)

    @property
    def sentence(self) -> str:
        """What the diagnosis says, in one line."""
        return textwrap.shorten(self.message.partition("\n")[0], SENTENCE, placeholder=" …")


def again(learners: Sequence[LearnerMarks]) -> list[Reason]:
    """Why marks were lost, most frequent first, a question's letters apart; what nobody has begun is left out.

    A learner who is told the same in several exercises, which build on one another, counts in the first of them.
    """
    given: dict[tuple[str, str, str | None], list[tuple[str, str]]] = defaultdict(list)
    for one in learners:
        known: set[str] = set()
        for name, mark in one.exercises.items():
            if _has_reason(mark) and mark.message not in known:
                given[name, mark.diagnosis, _letter(mark)].append((one.student, mark.message))
                known.add(mark.message)
    found = [Reason(name, diagnosis, tuple(student for student, _ in told), told[0][1])
             for (name, diagnosis, _), told in given.items()]
    order = list(learners[0].exercises) if learners else []
    return sorted(found, key=lambda reason: (-reason.count, order.index(reason.exercise), reason.diagnosis,
                                             reason.message))


def _has_reason(mark: ExerciseMark) -> bool:
    return bool(mark.diagnosis) and mark.diagnosis != "not-implemented"


def _letter(mark: ExerciseMark) -> str | None:
    """What a learner chose where a question was asked."""
    found = _LETTER.match(mark.message)
    return found[1] if found else None


def page(assignment: str, most: dict[str, float], learners: Sequence[LearnerMarks]) -> str:
    """The whole page."""
    graded, others = ([one for one in learners if bool(one.not_graded) is kind] for kind in (False, True))
    reasons = again(graded)
    body = [f"<h1>{escape(assignment)}: {counted(len(graded), 'learner')}</h1>", *_overview(most, graded, len(others)),
            "<h2>What to teach again</h2>", *(_table(reasons[:AGAIN], len(graded), True) if reasons else
                                              ["<p>Nobody was given a reason.</p>"])]
    if graded:
        body += ["<h2>Exercise by exercise</h2>", *_shares(most, graded)]
        for name, points in most.items():
            marks = [one.exercises[name] for one in graded]
            own = [reason for reason in reasons if reason.exercise == name]
            before = sum(map(_has_reason, marks)) - sum(reason.count for reason in own)
            body += [f'<h3 id="{escape(name)}">{escape(name)} <small>({counted(points, "point")})</small></h3>',
                     *_outcomes(marks, before)]
            body += _table(own, len(graded), False) if own else []
    if others:
        body += ['<h2 id="not-graded">Not graded</h2><p>These have no mark, and are in no number above.</p><ul>',
                 *(f"<li>{escape(one.student)}: {escape(one.not_graded)}</li>" for one in others), "</ul>"]
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(assignment)}</title>'
            f"<style>{_STYLE}</style><body>{''.join(body)}</body></html>\n")


def _overview(most: dict[str, float], graded: Sequence[LearnerMarks], others: int) -> Iterator[str]:
    if others:
        yield f'<p>{counted(others, "more submission")} could not be <a href="#not-graded">graded</a>.</p>'
    if not graded:
        return
    points = sorted(one.points for one in graded)
    middle = (points[(len(points) - 1) // 2] + points[len(points) // 2]) / 2
    yield f"<p>Median {middle:g} of {sum(most.values()):g} points, lowest {points[0]:g}, highest {points[-1]:g}"
    late = sum(one.penalty > 0 for one in graded)
    yield f", before late penalties ({counted(late, 'learner')} with one)." if late else "."
    waiting = sum(one.waits for one in graded)
    if waiting:
        yield (f" {counted(waiting, 'learner')} {'waits' if waiting == 1 else 'wait'} for a mark by hand; what has "
               "none yet counts as 0.")
    yield "</p>"


def _shares(most: dict[str, float], graded: Sequence[LearnerMarks]) -> Iterator[str]:
    """How many have each exercise right; those that only a person marks are left out."""
    yield '<table><tr><th>exercise</th><th class="n">right</th><th></th></tr>'
    for name in most:
        outcomes = [one.exercises[name].outcome for one in graded]
        if any(outcomes):
            yield f'<tr><td><a href="#{escape(name)}">{escape(name)}</a></td>'
            yield _share(outcomes.count(RIGHT), len(graded), "bar")
    yield "</table>"


def _share(count: int, learners: int, kind: str) -> str:
    """The last two cells of a row: how many of the learners, in numbers and as a bar."""
    share = count / learners
    return (f'<td class="n">{count} ({share:.0%})</td><td style="width:25%"><div class="{kind}" '
            f'style="width:{100 * share:.1f}%"></div></td></tr>')


def _outcomes(marks: Sequence[ExerciseMark], before: int) -> Iterator[str]:
    """How an exercise ended, and what was chosen; before: how many were told the same in an earlier exercise."""
    counts = Counter(map(_ending, marks))
    yield "<p>" + ", ".join(f"{count} {escape(ending)}" for ending, count in counts.most_common()) + "."
    letters = Counter(filter(None, map(_letter, marks)))
    right = {_letter(mark) for mark in marks if mark.outcome == RIGHT}
    if letters:
        yield " Chosen: " + ", ".join(f"{letters[letter]} × {letter}{' (right)' * (letter in right)}"
                                      for letter in sorted(letters)) + "."
    if before:
        yield f" {before} {'was' if before == 1 else 'were'} told the same in an earlier exercise."
    yield "</p>"


def _ending(mark: ExerciseMark) -> str:
    """How an exercise ended, in words that a number goes before."""
    if mark.waits:
        return "waiting for a mark by hand"
    return "not begun" if mark.diagnosis == "not-implemented" else _IN_WORDS.get(mark.outcome, mark.outcome)


def _table(reasons: Sequence[Reason], learners: int, with_exercise: bool) -> Iterator[str]:
    yield ("<table><tr>" + "<th>exercise</th>" * with_exercise
           + '<th>diagnosis, as the first learner was told it</th><th class="n">learners</th><th></th></tr>')
    for reason in reasons:
        yield "<tr>" + f"<td>{escape(reason.exercise)}</td>" * with_exercise
        yield (f"<td><details><summary><code>{escape(reason.diagnosis)}</code> {escape(reason.sentence)}</summary>"
               f"<pre>{escape(reason.message)}</pre><p>{escape(', '.join(reason.students))}</p></details></td>")
        yield _share(reason.count, learners, "bar wrong")
    yield "</table>"
