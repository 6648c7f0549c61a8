"""`python -m autograder collect ASSIGNMENT UPLOADS`: take in what an LMS or a mail folder holds, whatever its names.

UPLOADS is a folder or a zip file. Whose a notebook is, is read from its name as Canvas or Moodle make it, or from the
folder it lies in; which notebook of the assignment it is, from the cells in it, since learners rename files.
"""
from __future__ import annotations

import argparse
import csv
import json
import re
import secrets
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from autograder.classroom.course import Course, Refused, disk_trouble
from autograder.classroom.grade import MAX_MEGABYTES
from autograder.classroom.guard import NotPlain, check_plain, odd_files

# Canvas: lastfirst_LATE_12345_67890_name-1.ipynb; Moodle: First Last_12345_assignsubmission_file_/name.ipynb
CANVAS = re.compile(r"^(?P<student>[^_/]+)_(?:LATE_)?\d+_\d+_[^/]*$")
MOODLE = re.compile(r"^(?P<student>[^/]+)_\d+_assignsubmission_(?:file|onlinetext)_?$")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment")
    parser.add_argument("uploads", type=Path, help="a folder or a zip file")
    parser.add_argument("--pattern", metavar="REGEX", help="how to read the learner from a path inside: (?P<student>…)")
    parser.add_argument("--names", type=Path, metavar="CSV", help="two columns, name in the uploads and student id")


def run(arguments: argparse.Namespace) -> int:
    """0: all notebooks were taken in; 1: some were not, or none are there; each with its reason."""
    try:
        course = Course(Path.cwd())
        names = _names(arguments.names) if arguments.names else {}
        taken, refused = collect(course, arguments.assignment, arguments.uploads, arguments.pattern, names)
    except (Refused, OSError, re.error, zipfile.BadZipFile) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(taken)} notebooks of {arguments.assignment} are in {course.folders.submitted_directory}/.")
    for path, why in refused.items():
        print(f"Not taken: {path}: {why}", file=sys.stderr)
    return 1 if refused or not taken else 0


@dataclass(frozen=True)
class Upload:
    """A notebook as it was uploaded: its path inside, its content, when it was written."""

    path: PurePosixPath
    content: bytes
    written: datetime


def collect(course: Course, assignment: str, uploads: Path, pattern: str | None = None,
            names: dict[str, str] | None = None) -> tuple[list[Path], dict[str, str]]:
    """Put uploads where nbgrader's collect would; (files written, path → why it was not taken).

    Of several by one learner the newest counts; what is already there and newer stays.
    """
    cells = {name: _grade_ids(course, assignment, name) for name in course.notebooks(assignment)}
    found: dict[tuple[str, str], Upload] = {}
    refused: dict[str, str] = {}
    for upload in _uploads(uploads, refused):
        student = student_of(upload.path, pattern)
        student = (names or {}).get(student, student)
        notebook = _notebook(upload.content, cells)
        if student is None or not _is_plain(student):
            refused[str(upload.path)] = "its path does not say whose it is: name the learner with --pattern or --names"
        elif notebook is None:
            refused[str(upload.path)] = f"it is no notebook of {assignment}"
        elif (student, notebook) not in found or found[student, notebook].written <= upload.written:
            found[student, notebook] = upload
    taken = []
    for key, upload in sorted(found.items()):
        try:
            taken.append(_put(course, assignment, *key, upload))
        except NotPlain as error:
            refused[str(upload.path)] = str(error)
    return [file for file in taken if file is not None], refused


def student_of(path: PurePosixPath, pattern: str | None = None) -> str | None:
    """Whose an upload is, by its path; None where that says nothing."""
    if pattern is not None:
        found = re.search(pattern, str(path))
        return found["student"] if found else None
    for part in reversed(path.parts):
        found = CANVAS.match(part) or MOODLE.match(part)
        if found:
            return found["student"]
    return path.parts[0] if len(path.parts) > 1 else None


def _is_plain(student: str) -> bool:
    return bool(student.strip()) and not student.startswith(".") and not re.search(r"[/\\*?\[\]{}\x00-\x1f]", student)


def _uploads(place: Path, refused: dict[str, str]) -> Iterator[Upload]:
    limit = MAX_MEGABYTES * 1e6
    if place.is_dir():
        odd = {path: why for path, why in odd_files(place, limit) if path.suffix == ".ipynb" or path.is_dir()}
        refused |= {path.relative_to(place).as_posix(): why for path, why in odd.items()}
        for file in sorted(path for path in place.rglob("*.ipynb") if path not in odd and path.is_file()):
            inside = PurePosixPath(file.relative_to(place).as_posix())
            if ".ipynb_checkpoints" not in inside.parts:
                yield Upload(inside, file.read_bytes(), datetime.fromtimestamp(file.stat().st_mtime, timezone.utc))
    elif place.is_file():
        with zipfile.ZipFile(place) as archive:
            for entry in archive.infolist():
                inside = PurePosixPath(entry.filename)
                if entry.is_dir() or inside.suffix != ".ipynb" or inside.parts[0] == "__MACOSX":
                    continue
                if entry.file_size > limit:
                    refused[str(inside)] = f"it has {entry.file_size / 1e6:.0f} MB"
                else:
                    yield Upload(inside, archive.read(entry), datetime(*entry.date_time, tzinfo=timezone.utc))
    else:
        raise Refused(f"There is no folder and no zip file {place}.")


def _grade_ids(course: Course, assignment: str, notebook: str) -> set[str]:
    with course.gradebook() as gradebook:
        return {cell.name for cell in gradebook.find_notebook(notebook, assignment).source_cells}


def _notebook(content: bytes, cells: dict[str, set[str]]) -> str | None:
    """Which notebook of the assignment this is: the one with most cells in common."""
    try:
        claims = {cell["metadata"]["nbgrader"]["grade_id"] for cell in json.loads(content)["cells"]
                  if isinstance(cell.get("metadata", {}).get("nbgrader"), dict)
                  and isinstance(cell["metadata"]["nbgrader"].get("grade_id"), str)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    shared = {name: len(claims & known) for name, known in cells.items()}
    best = max(shared, key=shared.__getitem__)
    return best if shared[best] else None


def _put(course: Course, assignment: str, student: str, notebook: str, upload: Upload) -> Path | None:
    folder = course.folder("submitted", student, assignment)
    file, stamp = folder / f"{notebook}.ipynb", folder / "timestamp.txt"
    check_plain(folder)
    there = course.folders.get_existing_timestamp(str(folder))
    if file.exists() and there is not None and there.replace(tzinfo=timezone.utc) > upload.written:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    secret = folder / "submission_secret.txt"  # nbgrader's release_feedback stops at a submission that has none
    if not secret.is_file() or secret.is_symlink():
        _write(secret, secrets.token_hex(32).encode())
    _write(file, upload.content)
    _write(stamp, f"{upload.written:%Y-%m-%d %H:%M:%S.%f} UTC".encode())
    return file


def _write(file: Path, content: bytes) -> None:
    """The whole file or, on a full disk, the one that was there; what is there is replaced and never followed."""
    fresh = file.with_name(f".unfinished-{file.name}")
    try:
        fresh.unlink(missing_ok=True)
        fresh.write_bytes(content)
        fresh.replace(file)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise Refused(disk_trouble(error, file.parent)) from None


def _names(file: Path) -> dict[str, str]:
    with file.open(newline="") as rows:
        return {row[0].strip(): row[1].strip() for row in csv.reader(rows) if len(row) >= 2}
