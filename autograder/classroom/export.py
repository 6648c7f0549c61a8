"""`python -m autograder export ASSIGNMENT`: marks as a CSV file, for people, for Canvas or for Moodle.

"csv" has points, outcome and reason per exercise. "canvas" and "moodle" have what their gradebooks import. A learner
whose marks by hand are not all given yet is left out of these two, unless asked for. Whose submission could not be
graded has no mark: an empty one and the reason in "csv", no row in the others, where it would become a zero.
"""
from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.classroom.course import Course, Refused, disk_trouble
from autograder.classroom.marks import ExerciseMark, LearnerMarks, class_marks, counted

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment")
    parser.add_argument("--format", choices=tuple(FORMATS), default="csv")
    parser.add_argument("--to", type=Path, metavar="FILE", help="default: grades-ASSIGNMENT-FORMAT.csv")
    parser.add_argument("--unfinished", action="store_true", help="also those who wait for a mark by hand")


def run(arguments: argparse.Namespace) -> int:
    try:
        most, learners = class_marks(Course(Path.cwd()), arguments.assignment)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    written = learners
    if arguments.format != "csv":
        written = [one for one in learners if not one.not_graded and (arguments.unfinished or not one.waits)]
    target = arguments.to or Path(f"grades-{arguments.assignment}-{arguments.format}.csv")
    if written:
        try:
            target.write_text(FORMATS[arguments.format](arguments.assignment, most, written), encoding="utf-8",
                              newline="")
        except OSError as error:
            print(disk_trouble(error, target), file=sys.stderr)
            return 1
        print(f"{target}: {counted(len(written), 'learner')}.")
    else:
        print(f"{target} is not written: nobody would be in it.", file=sys.stderr)
    for line in _unmarked(learners, arguments.format != "csv" and not arguments.unfinished):
        print(line, file=sys.stdout if written else sys.stderr)
    return 0 if written else 1


def _unmarked(learners: Iterable[LearnerMarks], left_out: bool) -> Iterator[str]:
    """Who has no whole mark, and what to do about it."""
    waiting = [one for one in learners if one.waits]
    if waiting:
        what = dict.fromkeys(f"{'' if mark.outcome else 'the written answer '}{name}{_why_again(mark)}"
                             for one in waiting for name, mark in one.exercises.items() if mark.waits)
        yield (f"{counted(len(waiting), 'learner')} {'waits' if len(waiting) == 1 else 'wait'} for marks by hand: "
               f"{_some([one.student for one in waiting])}. To be marked in formgrader: {_some(list(what))}."
               + " With --unfinished they are exported with the points that they have so far." * left_out)
    yield from (f"Not graded: {one.student}: {one.not_graded}" for one in learners if one.not_graded)


def _why_again(mark: ExerciseMark) -> str:
    if mark.again:
        return " (graded again since it was marked by hand)"
    return " (could not be judged)" if mark.outcome else ""


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def as_csv(assignment: str, most: dict[str, float], learners: Iterable[LearnerMarks]) -> str:
    """Everything: per exercise points, maximum, outcome, diagnosis and reason."""
    head = ["assignment", "student_id", "last_name", "first_name", "email", "submitted", "total", "max", "late_penalty",
            "needs_manual_grade"]
    for name in most:
        head += [name, f"{name} max", f"{name} outcome", f"{name} diagnosis", f"{name} reason"]
    rows = [head]
    for one in learners:
        row = [assignment, *map(_text, (one.student, one.last_name, one.first_name, one.email, one.submitted)),
               "" if one.not_graded else _number(one.total), _number(sum(most.values())), _number(one.penalty),
               "yes" if one.waits else "no"]
        for mark in one.exercises.values():
            row += ["" if mark.points is None else _number(mark.points), _number(mark.most), mark.outcome,
                    mark.diagnosis, _text(mark.message)]
        rows.append(row)
    return _written(rows)


def as_canvas(assignment: str, most: dict[str, float], learners: Iterable[LearnerMarks]) -> str:
    """What Canvas imports: its fixed columns, a row with the points possible, one row a learner."""
    rows = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment],
            ["    Points Possible", "", "", "", "", _number(sum(most.values()))]]
    rows += [[_text(", ".join(filter(None, (one.last_name, one.first_name))) or one.student), _text(one.lms_id), "",
              _text(one.student), "", _number(one.total)] for one in learners]
    return _written(rows)


def as_moodle(assignment: str, most: dict[str, float], learners: Iterable[LearnerMarks]) -> str:
    """What Moodle's gradebook imports: map "ID number" (or the address) to the user, the last columns to the item."""
    rows = [["ID number", "Username", "First name", "Last name", "Email address", f"{assignment} (points)",
             f"{assignment} (feedback)"]]
    for one in learners:
        reasons = [f"{name}: {mark.message.splitlines()[0]}" for name, mark in one.exercises.items()
                   if mark.diagnosis and mark.message]
        rows.append([*map(_text, (one.lms_id or one.student, one.student, one.first_name, one.last_name, one.email)),
                     _number(one.total), _text("\n".join(reasons))])
    return _written(rows)


FORMATS = {"csv": as_csv, "canvas": as_canvas, "moodle": as_moodle}


def _number(value: float) -> str:
    return f"{value:.6g}"


def _text(value: str) -> str:
    """Text that a spreadsheet does not take for a formula: learners chose some of it."""
    return f"'{value}" if value.startswith(_FORMULA) else value


def _written(rows: list[list[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()
