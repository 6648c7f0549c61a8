"""`python -m autograder export ASSIGNMENT`: marks as a CSV file, for people, for Canvas or for Moodle.

"csv" has points, outcome and reason per exercise. "canvas" and "moodle" have what their gradebooks import. A learner
whose marks by hand are not all given yet is left out of these two, unless asked for.
"""
from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.classroom.course import Course, Refused
from autograder.classroom.marks import LearnerMarks, class_marks

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
    waiting = [learner.student for learner in learners if learner.waits]
    if arguments.format != "csv" and not arguments.unfinished:
        learners = [learner for learner in learners if not learner.waits]
    target = arguments.to or Path(f"grades-{arguments.assignment}-{arguments.format}.csv")
    target.write_text(FORMATS[arguments.format](arguments.assignment, most, learners), encoding="utf-8", newline="")
    print(f"{target}: {len(learners)} learners.")
    if waiting:
        print(f"{len(waiting)} wait for marks by hand: {', '.join(waiting[:10])}{' …' if len(waiting) > 10 else ''}.")
    return 0


def as_csv(assignment: str, most: dict[str, float], learners: Iterable[LearnerMarks]) -> str:
    """Everything: per exercise points, maximum, outcome, diagnosis and reason."""
    head = ["assignment", "student_id", "last_name", "first_name", "email", "submitted", "total", "max", "late_penalty",
            "needs_manual_grade"]
    for name in most:
        head += [name, f"{name} max", f"{name} outcome", f"{name} diagnosis", f"{name} reason"]
    rows = [head]
    for one in learners:
        row = [assignment, *map(_text, (one.student, one.last_name, one.first_name, one.email, one.submitted)),
               _number(one.total), _number(sum(most.values())), _number(one.penalty), "yes" if one.waits else "no"]
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
