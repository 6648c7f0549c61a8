"""One submission as data: everything that decides its marks in, outputs and marks out, wherever that is computed.

A `Task` holds the cells after nbgrader's sanitizing pass, the grade cells' sources as the gradebook has them, the
seeds of their hidden trials, and the limits. `grade_task` is a function of nothing else, so a worker anywhere can
compute it; the result is plain JSON. `PreparedExecute` puts such a result where nbgrader expects it.
"""
from __future__ import annotations

import hashlib
import json
import logging
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import torch
from nbformat import NotebookNode, from_dict
from traitlets.config import Config

from autograder import grading
from autograder.classroom.sealed.attempt import Attempt
from autograder.classroom.sealed.execute import SealedExecute
from autograder.classroom.sealed.grade_cells import Check, read_grade_cell
from autograder.classroom.sealed.outcomes import Mark
from autograder.classroom.sealed.sandbox import require
from autograder.ranks.processes import start_server
from autograder.verdict import Verdict

SETTINGS = ("unsealed", "cell_timeout", "check_timeout", "submission_timeout", "memory", "total_memory", "processes",
            "files", "output")
_PACKAGE = Path(__file__).resolve().parents[2]
_DECIDES = ("*.py", "ranks/*.py", "stages/*.py", "exercises/*.py", "dials/*.py",
            "classroom/sealed/**/*.py", "classroom/preprocessors.py", "classroom/grade/submission.py")


class Changed(RuntimeError):
    """A submission is no longer the one that was graded."""


class OtherEngine(RuntimeError):
    """A worker has another version of this package or of torch than the grader."""


@dataclass(frozen=True)
class Task:
    """What decides the marks of one notebook. cells: (kind, source, grade_id or None) each; seeds: per exercise.

    engine: the version that a worker must have, "" for workers of this very installation.
    """

    key: str
    cells: tuple[tuple[str, str, str | None], ...]
    sources: Mapping[str, str]
    seeds: Mapping[str, int]
    settings: Mapping[str, object]
    engine: str

    @property
    def digest(self) -> str:
        return digest(self.cells)


@dataclass(frozen=True)
class Result:
    """How a notebook's cells ended. outputs by cell number; marks by grade_id; kept: marks of an earlier grading."""

    key: str
    digest: str
    grade_cells: Mapping[int, str]
    outputs: Mapping[int, list]
    marks: Mapping[str, Mark]
    said: tuple[tuple[int, str], ...] = ()
    kept: tuple[str, ...] = field(default=())

    @property
    def judged(self) -> bool:
        return all(mark.judged for mark in self.marks.values())

    def to_dict(self) -> dict:
        marks = {name: {"outcome": mark.outcome, "verdict": mark.verdict.to_dict()}
                 for name, mark in self.marks.items()}
        return {"key": self.key, "digest": self.digest, "outputs": {str(i): o for i, o in self.outputs.items()},
                "grade_cells": {str(i): name for i, name in self.grade_cells.items()}, "marks": marks,
                "said": [list(line) for line in self.said], "kept": list(self.kept)}

    @classmethod
    def from_dict(cls, data: dict) -> Result:
        marks = {name: Mark(mark["outcome"], Verdict.from_dict(mark["verdict"]))
                 for name, mark in data["marks"].items()}
        outputs = {int(i): [from_dict(output) for output in outputs] for i, outputs in data["outputs"].items()}
        grade_cells = {int(i): name for i, name in data["grade_cells"].items()}
        return cls(data["key"], data["digest"], grade_cells, outputs, marks,
                   tuple((level, text) for level, text in data["said"]), tuple(data["kept"]))


def engine_files() -> list[Path]:
    """All code that decides marks and their reasons."""
    return sorted(path for pattern in _DECIDES for path in _PACKAGE.glob(pattern))


@cache
def engine_version() -> str:
    """A digest of all code that decides marks, and the versions of Python and torch."""
    hashed = hashlib.sha256(f"{platform.python_version()} {torch.__version__}".encode())
    for file in engine_files():
        hashed.update(file.relative_to(_PACKAGE).as_posix().encode() + b"\0" + file.read_bytes())
    return hashed.hexdigest()[:16]


def digest(value: object) -> str:
    """A digest of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def cells_as_data(cells: list[NotebookNode]) -> tuple[tuple[str, str, str | None], ...]:
    """Of each cell what grading reads: its kind, its source, its grade_id."""
    return tuple((cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}).get("grade_id")) for cell in cells)


def seeds_of(sources: Mapping[str, str], config: Config) -> dict[str, int]:
    """The seed of each exercise that these grade cells check, from the course's secret."""
    settings, seeds = SealedExecute(config=config), {}
    for source in sources.values():
        try:
            asked = read_grade_cell(source)
        except ValueError:
            continue
        if isinstance(asked, Check):
            seeds[asked.exercise] = settings.hidden_seed(asked.exercise)
    return seeds


def settings_of(config: Config) -> dict[str, object]:
    settings = SealedExecute(config=config)
    return {name: getattr(settings, name) for name in SETTINGS}


def grade_task(task: Task, only: str | None = None) -> dict:
    """Run and judge a submission; a Result as plain data. only: judge this grade cell alone.

    Raises NoSandbox where there is none, OtherEngine where this package is another one than the grader's.
    """
    if task.engine and task.engine != engine_version():
        raise OtherEngine(f"The worker on {platform.node()} has version {engine_version()} of the package, the grader "
                          f"{task.engine}. Install the same package, Python and torch on both.")
    execute = _OnWorker(task)
    cells, sources = _cells(task, only)
    run = execute._graded(cells, sources)
    return _result(task, run, execute.said).to_dict()


def given_up(task: Task, why: str) -> Result:
    """The result for a submission that could not be graded through no fault of its own: a person must look."""
    run = Attempt(_OnWorker(task), *_cells(task, None))
    run.give_up(why)
    return _result(task, run, [(logging.ERROR, why)])


def merged(new: Result, old: Result, only: str) -> Result:
    """The new result for one grade cell, the old one's marks for the others."""
    kept = {name: mark for name, mark in old.marks.items() if name != only}
    return Result(new.key, new.digest, old.grade_cells, new.outputs, {**kept, only: new.marks[only]}, new.said,
                  tuple(sorted(kept)))


def _cells(task: Task, only: str | None) -> tuple[list[NotebookNode], dict[str, str]]:
    """The cells again; with `only`, the other grade cells hold nothing."""
    sources = {name: source for name, source in task.sources.items() if only in (None, name)}
    cells = []
    for kind, source, name in task.cells:
        left_out = name in task.sources and name not in sources and kind == "code"
        metadata = {"nbgrader": {"grade_id": name}} if name is not None else {}
        cells.append(from_dict({"cell_type": kind, "source": "" if left_out else source, "metadata": metadata}))
    return cells, sources


def _result(task: Task, run: Attempt, said: list[tuple[int, str]]) -> Result:
    return Result(task.key, task.digest, run.grade_cells, run.outputs, run.marks, tuple(said[-100:]))


class _OnWorker(SealedExecute):
    """Sealed grading away from the course's folder: seeds and limits come with the task."""

    def __init__(self, task: Task) -> None:
        super().__init__(**task.settings)
        self._seeds = task.seeds
        self.said: list[tuple[int, str]] = []
        self.log = logging.Logger("autograder.submission")
        self.log.addHandler(_Kept(self.said))

    def _get_ready(self) -> None:
        if not self.unsealed:
            require()
        start_server(grading.PRELOAD)

    def hidden_seed(self, exercise: str) -> int:
        return self._seeds[exercise]


class _Kept(logging.Handler):
    """Keeps what is logged, to be logged where the grader's log is."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append((record.levelno, record.getMessage()))


class PreparedExecute(SealedExecute):
    """In place of SealedExecute when the result is there already: nothing is run, everything else is the same."""

    result: Result

    def _graded(self, cells: list[NotebookNode], sources: dict[str, str]) -> Result:
        if digest(cells_as_data(cells)) != self.result.digest:
            raise Changed("the submission, or the assignment, was changed while it was graded: grade it again")
        for level, line in self.result.said:
            self.log.log(level, "%s", line)
        return self.result


