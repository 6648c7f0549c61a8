"""Results of grading on disk, beside the gradebook: each one is there whole or not at all.

`.course/graded/ASSIGNMENT/STUDENT/NOTEBOOK-KEY.json` holds what a worker found; the key is a digest of all that decides
it. `.course/graded/ASSIGNMENT/STUDENT/written.json` is written last, when gradebook and graded notebooks have it: for
each notebook the key and what its cells are worth, and for each grade cell the mark that the gradebook then had.
`.course/graded/ASSIGNMENT/STUDENT/not-graded.json` holds why a submission could not be graded.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from autograder.classroom.grade.submission import Result

_WRITTEN = "written.json"
_NOT_GRADED = "not-graded.json"


class Results:
    """The results of one assignment, in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def clean(self) -> None:
        """Remove what a writer that was killed left unfinished."""
        for rest in self.folder.glob("*/.unfinished-*"):
            rest.unlink()

    def get(self, student: str, notebook: str, key: str) -> Result | None:
        data = _read(self._file(student, notebook, key))
        try:
            return Result.from_dict(data) if data and data["key"] == key else None
        except (KeyError, TypeError, ValueError):
            return None  # of another version, or damaged: it is graded again

    def put(self, student: str, notebook: str, result: Result) -> None:
        """Keep a result; results of the same notebook under other keys are of no use any more. OSError if it cannot."""
        file = self._file(student, notebook, result.key)
        _write(file, result.to_dict())
        for other in file.parent.glob("*.json"):
            if other.name.startswith(f"{notebook}-") and len(other.stem) == len(file.stem) and other != file:
                other.unlink()

    def latest(self, student: str, notebook: str) -> Result | None:
        """What the last grading of a notebook found, whatever its key."""
        key = self.written(student).get("keys", {}).get(notebook)
        return self.get(student, notebook, key) if key else None

    def written(self, student: str) -> dict:
        """What was last written into the gradebook for a student: {"keys": …, "points": …, "marks": …}, or {}."""
        return _read(self.folder / student / _WRITTEN) or {}

    def mark_written(self, student: str, **what: Mapping) -> None:
        _write(self.folder / student / _WRITTEN, {name: dict(value) for name, value in what.items()})
        (self.folder / student / _NOT_GRADED).unlink(missing_ok=True)

    def forget_written(self, student: str) -> None:
        (self.folder / student / _WRITTEN).unlink(missing_ok=True)

    def not_graded(self, student: str, unless: Iterable[Path] = ()) -> str:
        """Why a student's submission could not be graded, "" where nothing is said about it, or one of these files (a
        graded notebook, by whatever command) is newer."""
        file = self.folder / student / _NOT_GRADED
        why = str((_read(file) or {}).get("why", ""))
        return "" if why and any(other.stat().st_mtime > file.stat().st_mtime for other in unless) else why

    def mark_not_graded(self, student: str, why: str) -> None:
        _write(self.folder / student / _NOT_GRADED, {"why": why})

    def _file(self, student: str, notebook: str, key: str) -> Path:
        return self.folder / student / f"{notebook}-{key}.json"


def _read(file: Path) -> dict | None:
    try:
        data = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def _write(file: Path, data: dict) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".unfinished-{os.getpid()}-{file.name}")
    try:
        with fresh.open("w") as out:
            json.dump(data, out)
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(file)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
