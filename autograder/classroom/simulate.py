"""`python -m autograder simulate`: a class of varied real submissions, for load tests and for trying things out.

Each is the released notebook with answers put in: right ones in different ways, each misconception of the banks,
broken notebooks, hostile ones; five learners are enough for one of each kind. They lie in submitted/, where collecting
would put them, as handed in by sim-0001, …
"""
from __future__ import annotations

import argparse
import ast
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import cycle
from pathlib import Path

import nbformat

from autograder.classroom.course import disk_trouble

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
PREFIX = "sim-"
KINDS = {"right": 45, "misconception": 38, "unfinished": 7, "broken": 6, "hostile": 4}  # per cent
BROKEN = {
    "a syntax error": "def {name}(:\n    return",
    "an exception while it is defined": "raise RuntimeError('the cell above this one was never run')",
    "the kernel is killed": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "a name that is not the exercise's": "def my_{name}(*arguments):\n    return arguments",
}


@dataclass(frozen=True)
class Submission:
    """What one learner hands in. answers: by exercise, in place of the solution; diagnoses: keys the reasons may carry.

    kind: one of KINDS. untouched: the released notebook as it is. tampers: also copies one check and deletes another.
    """

    student: str
    story: str
    answers: Mapping[str, str] = field(default_factory=dict)
    diagnoses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    untouched: bool = False
    tampers: bool = False
    kind: str = "right"


class Material:
    """What submissions to an assignment are made of: the released notebook, solutions, banks. Raises LookupError."""

    def __init__(self, root: Path, assignment: str, released: nbformat.NotebookNode | None = None) -> None:
        self.assignment = assignment
        self.tests = root / "tests"
        source, release = (root / place / assignment / f"{assignment}.ipynb" for place in ("source", "release"))
        for file in [source] + [release] * (released is None):
            if not file.is_file():
                raise LookupError(f"There is no {file.relative_to(root)} in {root}: run this in a clone of the course.")
        self.released = released if released is not None else nbformat.read(release, as_version=4)
        self.solutions = solutions(nbformat.read(source, as_version=4))
        self.exercises = [name for name in self._checked() if self.bank(name, "wrong")]
        self.questions = [name for name in self._checked() if name.rpartition("_")[2][1:].isdigit()]

    def _checked(self) -> list[str]:
        return [grade_id(cell) for cell in self.released.cells
                if cell.metadata.get("nbgrader", {}).get("grade") and cell.cell_type == "code"]

    def bank(self, exercise: str, kind: str) -> list[Path]:
        """Files with "right" or "wrong" answers to an exercise."""
        return sorted((self.tests / "banks" / self.assignment / exercise).glob(f"{kind}_*.py"))

    def notebook(self, submission: Submission) -> nbformat.NotebookNode:
        """The notebook that this learner hands in."""
        notebook = deepcopy(self.released)
        if not submission.untouched:
            answers = {**self.solutions, **{f"{name}_answer": text for name, text in submission.answers.items()}}
            for cell in notebook.cells:
                cell.source = answers.get(grade_id(cell), cell.source)
        if submission.tampers:
            checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
            copy = deepcopy(checks[0])
            copy.id = "copied"
            notebook.cells.append(copy)
            notebook.cells.remove(checks[1])
        return notebook


def submissions(material: Material, students: int, seed: int = 0) -> Iterator[Submission]:
    """A class of so many, the same for the same seed. Misconceptions come in turn: a large class has them all."""
    chance = random.Random(seed)
    wrong = [file for name in material.exercises for file in material.bank(name, "wrong")]
    chance.shuffle(wrong)
    in_turn = cycle(wrong)
    kinds = dealt(students)
    chance.shuffle(kinds)
    for number, kind in enumerate(kinds):
        student = f"{PREFIX}{number + 1:04}"
        if not material.exercises and kind in ("misconception", "broken"):
            kind = "right"
        answers = {name: chance.choice(files).read_text() for name in material.exercises
                   if chance.random() < 0.5 and (files := material.bank(name, "right"))}
        if kind == "right":
            yield Submission(student, "right", answers)
            continue
        answers |= {name: f'{name} = "{chance.choice("ABCD")}"' for name in material.questions
                    if chance.random() < 0.25}
        if kind == "unfinished":
            yield Submission(student, "untouched", untouched=True, kind=kind)
        elif kind == "misconception":
            file = next(in_turn)
            name = file.parent.name
            yield Submission(student, f"{name}: {file.stem.removeprefix('wrong_').replace('_', ' ')}",
                             {**answers, name: file.read_text()}, {name: diagnoses(file)}, kind=kind)
        elif kind == "broken":
            story, name = chance.choice(list(BROKEN)), chance.choice(material.exercises)
            yield Submission(student, f"{name}: {story}", {**answers, name: BROKEN[story].format(name=name)},
                             kind=kind)
        else:
            yield _hostile(material, student, answers, chance)


def dealt(students: int) -> list[str]:
    """A kind for each: all kinds, most frequent first, then whichever is furthest behind its share."""
    counts: Counter[str] = Counter()
    for number in range(1, students + 1):
        counts[max(KINDS, key=lambda kind: (not counts[kind], KINDS[kind] * number / 100 - counts[kind]))] += 1
    return list(counts.elements())


def _hostile(material: Material, student: str, answers: dict[str, str], chance: random.Random) -> Submission:
    """A function of the hostile bank where the assignment has its exercise; else a check copied, another deleted."""
    exercise = "synchronized_item_mean"
    files = sorted((material.tests / "hostile" / "functions").glob("*.py"))
    if exercise not in material.exercises or not files:
        return Submission(student, "one check copied, one deleted", answers, tampers=True, kind="hostile")
    file = chance.choice(files)
    return Submission(student, f"hostile: {file.stem.replace('_', ' ')}", {**answers, exercise: file.read_text()},
                      kind="hostile")


def diagnoses(file: Path) -> tuple[str, ...]:
    """The keys that a wrong answer of a bank may be named with."""
    first = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0]
    return tuple(key.strip() for key in first.partition("diagnosis:")[2].split("|"))


def solutions(source: nbformat.NotebookNode) -> dict[str, str]:
    """The instructor's answers by grade_id, without the marks around them."""
    return {
        grade_id(cell): "\n".join(x for x in cell.source.split("\n") if x.strip() not in (BEGIN, END))
        for cell in source.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def grade_id(cell: nbformat.NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


# ---- the command -------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", nargs="?", default="item_mean")
    parser.add_argument("--students", type=int, default=20, metavar="N", help="how many (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="another class for another number (default: 0)")
    parser.add_argument("--into", type=Path, default=Path("submitted"), metavar="FOLDER",
                        help="where submissions go (default: submitted)")


def run(arguments: argparse.Namespace) -> int:
    try:
        material = Material(Path.cwd(), arguments.assignment)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 1
    if arguments.students < 1:
        print(f"A class of {arguments.students}: give at least one learner.", file=sys.stderr)
        return 1
    try:
        return _written(material, arguments)
    except OSError as error:
        print(disk_trouble(error, arguments.into), file=sys.stderr)
        return 1


def _written(material: Material, arguments: argparse.Namespace) -> int:
    stories, counts = {}, Counter()
    for submission in submissions(material, arguments.students, arguments.seed):
        write(material, submission, arguments.into)
        stories[submission.student] = submission.story
        counts[submission.kind] += 1
    story_file = arguments.into / f"{PREFIX}stories-{arguments.assignment}.json"
    story_file.write_text(json.dumps(stories, indent=1) + "\n")
    print(f"{len(stories)} submissions of {arguments.assignment} are in {arguments.into}/. Grade them: "
          f"python -m autograder grade {arguments.assignment}")
    print(f"{', '.join(f'{counts[kind]} {kind}' for kind in KINDS)}: {story_file} says which is what.")
    return 0


def write(material: Material, submission: Submission, into: Path) -> Path:
    """Put a submission where collecting would; the folder."""
    folder = into / submission.student / material.assignment
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(material.notebook(submission), folder / f"{material.assignment}.ipynb")
    now = datetime.now(timezone.utc)
    (folder / "timestamp.txt").write_text(f"{now:%Y-%m-%d %H:%M:%S} UTC")
    return folder
