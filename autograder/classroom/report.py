"""`python -m autograder report ASSIGNMENT`: a page about the class: which exercise, which diagnosis, how many.

What to teach again tomorrow comes first. One HTML file without scripts; what learners wrote is escaped.
"""
from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from autograder.classroom.course import Course, Refused
from autograder.classroom.marks import LearnerMarks, class_marks

AGAIN = 5  # reasons at the top of the page
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.25rem .6rem;vertical-align:top;
border-bottom:1px solid #8884}.n{text-align:right;white-space:nowrap}.bar{background:#0072B2;height:.8rem}
.bar.wrong{background:#D55E00}code{font-size:.9em}summary{cursor:pointer}h3{margin-bottom:.2rem}
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
    target.write_text(page(arguments.assignment, most, learners), encoding="utf-8")
    print(f"{target}: {len(learners)} learners.")
    for line in again(learners)[:AGAIN]:
        print(f"  {line.count:4} of {len(learners)}  {line.exercise}: {line.diagnosis}")
    return 0


@dataclass(frozen=True)
class Reason:
    """A diagnosis of an exercise, whom it was given to, and an example of the message."""

    exercise: str
    diagnosis: str
    students: tuple[str, ...]
    message: str

    @property
    def count(self) -> int:
        return len(self.students)


def again(learners: Sequence[LearnerMarks]) -> list[Reason]:
    """Why marks were lost, most frequent first; what nobody has begun is no misconception and is left out."""
    students: dict[tuple[str, str], list[str]] = defaultdict(list)
    messages: dict[tuple[str, str], str] = {}
    for one in learners:
        for name, mark in one.exercises.items():
            if mark.diagnosis and mark.diagnosis != "not-implemented":
                students[name, mark.diagnosis].append(one.student)
                messages.setdefault((name, mark.diagnosis), mark.message)
    found = [Reason(*key, tuple(names), messages[key]) for key, names in students.items()]
    return sorted(found, key=lambda reason: (-reason.count, reason.exercise, reason.diagnosis))


def page(assignment: str, most: dict[str, float], learners: Sequence[LearnerMarks]) -> str:
    """The whole page."""
    reasons = again(learners)
    body = [f"<h1>{escape(assignment)}: {len(learners)} learners</h1>", *_overview(most, learners),
            "<h2>What to teach again</h2>", *(_table(reasons[:AGAIN], len(learners), True) if reasons else
                                              ["<p>Nobody was given a reason.</p>"]),
            "<h2>Exercise by exercise</h2>"]
    for name, points in most.items():
        body += [f"<h3>{escape(name)} <small>({points:g} points)</small></h3>", *_outcomes(name, learners)]
        own = [reason for reason in reasons if reason.exercise == name]
        body += _table(own, len(learners), False) if own else []
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(assignment)}</title>'
            f"<style>{_STYLE}</style><body>{''.join(body)}</body></html>\n")


def _overview(most: dict[str, float], learners: Sequence[LearnerMarks]) -> Iterator[str]:
    totals = sorted(one.total for one in learners)
    middle = (totals[(len(totals) - 1) // 2] + totals[len(totals) // 2]) / 2
    waiting = sum(one.waits for one in learners)
    yield (f"<p>Median {middle:g} of {sum(most.values()):g} points, lowest {totals[0]:g}, highest {totals[-1]:g}. "
           f"{waiting} wait for a mark by hand.</p>")


def _outcomes(name: str, learners: Sequence[LearnerMarks]) -> Iterator[str]:
    counts = Counter("waits for a mark by hand" if mark.points is None else mark.outcome or "marked by hand"
                     for mark in (one.exercises[name] for one in learners))
    not_begun = sum(one.exercises[name].diagnosis == "not-implemented" for one in learners)
    yield "<p>" + ", ".join(f"{count} {escape(outcome)}" for outcome, count in counts.most_common())
    yield f" ({not_begun} not begun).</p>" if not_begun else ".</p>"


def _table(reasons: Sequence[Reason], learners: int, with_exercise: bool) -> Iterator[str]:
    yield "<table><tr>" + "<th>exercise</th>" * with_exercise + "<th>diagnosis</th><th>learners</th><th></th></tr>"
    for reason in reasons:
        share = reason.count / learners
        yield "<tr>" + f"<td>{escape(reason.exercise)}</td>" * with_exercise
        yield (f"<td><details><summary><code>{escape(reason.diagnosis)}</code></summary>"
               f"<pre>{escape(reason.message)}</pre><p>{escape(', '.join(reason.students))}</p></details></td>"
               f'<td class="n">{reason.count} ({share:.0%})</td>'
               f'<td style="width:40%"><div class="bar wrong" style="width:{100 * share:.1f}%"></div></td></tr>')
    yield "</table>"
