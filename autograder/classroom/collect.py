"""`python -m autograder collect ASSIGNMENT UPLOADS`: take in what an LMS or a mail folder holds, whatever its names.

UPLOADS is a folder or a zip file. Whose a notebook is, is read from its name as Canvas or Moodle make it, or from the
folder it lies in; which notebook of the assignment it is, from the cells in it, since learners rename files.
"""
from __future__ import annotations

import argparse
import csv
import json
import os
import re
import secrets
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from autograder.classroom.course import Course, Refused, disk_trouble
from autograder.classroom.grade.command import MAX_MEGABYTES
from autograder.classroom.guard import NotPlain, check_plain, odd_files
from autograder.classroom.marks import counted

# Canvas: lastfirst_LATE_12345_67890_name-1.ipynb; Moodle: First Last_12345_assignsubmission_file_/name.ipynb
CANVAS = re.compile(r"^(?P<student>[^_/]+)_(?:LATE_)?\d+_\d+_[^/]*$")
MOODLE = re.compile(r"^(?P<student>[^/]+)_\d+_assignsubmission_(?:file|onlinetext)_?$")
_MOST = MAX_MEGABYTES * 1e6
_BY_NBGRADER = ("timestamp.txt", "submission_secret.txt")  # where UPLOADS is a folder that nbgrader wrote


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment")
    parser.add_argument("uploads", type=Path, help="a folder or a zip file")
    parser.add_argument("--pattern", metavar="REGEX", help="how to read the learner from a path inside: (?P<student>…)")
    parser.add_argument("--names", type=Path, metavar="CSV", help="two columns, name in the uploads and student id")


def run(arguments: argparse.Namespace) -> int:
    """0: all is taken in, or there in a newer version; 1: something else is not, or there is nothing to take."""
    try:
        course = Course(Path.cwd())
        names = _names(arguments.names) if arguments.names else {}
        taken, left = collect(course, arguments.assignment, arguments.uploads, arguments.pattern, names)
    except (Refused, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{counted(len(taken), 'notebook')} of {arguments.assignment} taken into "
          f"{course.folders.submitted_directory}/.")
    for one in left:
        print(f"Not taken: {one.path}: {one.why}", file=sys.stderr)
    without = sorted({one.student for one in left if one.student} - {student for student, _ in taken}
                     - {one.student for one in left if one.older})
    if without:
        print(f"Nothing is taken from {counted(len(without), 'learner')}: {', '.join(without)}.", file=sys.stderr)
    return 0 if all(one.older for one in left) and (taken or left) else 1


@dataclass(frozen=True)
class Upload:
    """A notebook as it was uploaded: its path inside, its content, when it was written."""

    path: PurePosixPath
    content: bytes
    written: datetime


@dataclass(frozen=True)
class Left:
    """A file that was not taken in: why, and whose it is where its path says that. older: a newer one counts."""

    path: PurePosixPath
    why: str
    student: str | None = None
    older: bool = False


def collect(course: Course, assignment: str, uploads: Path, pattern: str | None = None,
            names: dict[str, str] | None = None) -> tuple[list[tuple[str, Path]], list[Left]]:
    """Put uploads where nbgrader's collect would; ((student, file written), …), and what was left, learner by learner.

    Of several by one learner the newest counts; what is already there and newer stays.
    """
    _check_pattern(pattern)
    cells = {name: _grade_ids(course, assignment, name) for name in course.notebooks(assignment)}
    found: dict[tuple[str, str], Upload] = {}
    left: list[Left] = []
    for upload in _uploads(uploads):
        student = student_of(upload.path, pattern)
        student = (names or {}).get(student, student)
        student = student and student.strip()  # nbgrader takes spaces around a name away
        if student is not None and not _is_plain(student):
            student = None
        if isinstance(upload, Left):
            left.append(replace(upload, student=student))
            continue
        notebook = _notebook(upload.content, cells)
        if student is None:
            left.append(Left(upload.path, "its path does not say whose it is: name the learner with --pattern or "
                             "--names"))
        elif notebook is None:
            left.append(Left(upload.path, f"it is no notebook of {assignment}", student))
        else:
            before = found.get((student, notebook), upload)
            older, newer = sorted((before, upload), key=lambda each: each.written)
            if before is not upload:
                left.append(Left(older.path, f"{newer.path} of the same learner counts", student, older=True))
            found[student, notebook] = newer
    taken = []
    for (student, notebook), upload in sorted(found.items(), key=lambda entry: entry[0]):
        try:
            file = _put(course, assignment, student, notebook, upload)
        except NotPlain as error:
            left.append(Left(upload.path, str(error), student))
            continue
        if file is None:
            left.append(Left(upload.path, "the submission that is there is newer", student, older=True))
        else:
            taken.append((student, file))
    return taken, sorted(left, key=lambda one: (one.student or "", str(one.path)))


def _check_pattern(pattern: str | None) -> None:
    try:
        named = pattern is None or "student" in re.compile(pattern).groupindex
    except re.error as error:
        raise Refused(f"--pattern {pattern!r} is no regular expression: {error}.") from None
    if not named:
        raise Refused(f"--pattern {pattern!r} does not say where the learner is: it needs a group (?P<student>…).")


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
    """Whether this can be the name of a folder, and of nobody else's, for nbgrader, which takes some for patterns."""
    return (student != "" and not student.startswith(".") and len(os.fsencode(student)) <= 200
            and not re.search(r"[/\\*?\[\]{}\x00-\x1f\ud800-\udfff]", student))


def _uploads(place: Path) -> Iterator[Upload | Left]:
    """What there is, in the order of its names; what nobody uploaded, such as a system's hidden files, is left out."""
    if place.is_dir():
        odd = dict(odd_files(place, _MOST))
        for file in sorted(path for path in place.rglob("*") if path in odd or path.is_file()):
            inside = PurePosixPath(file.relative_to(place).as_posix())
            if not _is_noise(inside):
                why = odd.get(file) or _no_notebook(inside)
                yield Left(inside, why) if why else Upload(
                    inside, file.read_bytes(), datetime.fromtimestamp(file.stat().st_mtime, timezone.utc))
    elif place.is_file():
        try:
            archive = zipfile.ZipFile(place)
        except zipfile.BadZipFile:
            raise Refused(f"{place} is no folder and no zip file: give what the LMS lets you download.") from None
        with archive:
            for entry in archive.infolist():
                inside = PurePosixPath(entry.filename)
                if not entry.is_dir() and not _is_noise(inside):
                    yield _in_zip(archive, entry, inside)
    else:
        raise Refused(f"There is no folder and no zip file {place}.")


def _in_zip(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, inside: PurePosixPath) -> Upload | Left:
    parts = entry.filename.replace("\\", "/").split("/")
    if ".." in parts or inside.is_absolute():
        return Left(inside, "its path leads out of the archive; no LMS writes that")
    if entry.file_size > _MOST:
        return Left(inside, f"it has {entry.file_size / 1e6:.0f} MB")
    if why := _no_notebook(inside):
        return Left(inside, why)
    try:
        return Upload(inside, archive.read(entry), datetime(*entry.date_time, tzinfo=timezone.utc))
    except (RuntimeError, ValueError, zipfile.BadZipFile, zlib.error, EOFError) as error:  # encrypted, damaged
        return Left(inside, f"it cannot be read ({error})")


def _no_notebook(path: PurePosixPath) -> str:
    return "" if path.suffix == ".ipynb" else "it is no notebook (.ipynb)"


def _is_noise(path: PurePosixPath) -> bool:
    hidden = any(part.startswith(".") and not part.startswith("..") for part in path.parts)
    return hidden or path.parts[:1] == ("__MACOSX",) or path.name in _BY_NBGRADER


def _grade_ids(course: Course, assignment: str, notebook: str) -> set[str]:
    with course.gradebook() as gradebook:
        return {cell.name for cell in gradebook.find_notebook(notebook, assignment).source_cells}


def _notebook(content: bytes, cells: dict[str, set[str]]) -> str | None:
    """Which notebook of the assignment this is: the one with most cells in common."""
    try:
        claims = {cell["metadata"]["nbgrader"]["grade_id"] for cell in json.loads(content)["cells"]
                  if isinstance(cell.get("metadata", {}).get("nbgrader"), dict)
                  and isinstance(cell["metadata"]["nbgrader"].get("grade_id"), str)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
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
    _write(file, _utf8(upload.content))
    _write(stamp, f"{upload.written:%Y-%m-%d %H:%M:%S.%f} UTC".encode())
    return file


def _utf8(content: bytes) -> bytes:
    """JSON as nbformat reads it: some editors write a byte order mark or UTF-16."""
    encoding = json.detect_encoding(content)
    return content if encoding == "utf-8" else content.decode(encoding, "replace").encode()


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
    try:
        with file.open(newline="", encoding="utf-8-sig") as rows:
            return {row[0].strip(): row[1].strip() for row in csv.reader(rows) if len(row) >= 2}
    except (OSError, ValueError, csv.Error) as error:
        raise Refused(f"--names {file} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
