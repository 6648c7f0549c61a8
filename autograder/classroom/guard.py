"""Guards around nbgrader's own steps: one grader an assignment, and no file of the host through a submission's folder.

nbgrader copies what lies beside a notebook and follows symbolic links, so a link to the gradebook would come back as
feedback, and a link to a device would never end. `GuardedExporter` is what every Autograde converter makes first, from
a command as from formgrader; `Collect` is nbgrader's collect, `ReleaseFeedback` its release_feedback.
"""
from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from nbconvert.exporters import NotebookExporter
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.utils import ignore_patterns, parse_utc
from traitlets import Bool

from autograder.classroom.course import Refused, check_writable, lock, state_of

MOST_OF_A_TIME = 1000  # bytes


class NotPlain(Exception):
    """A submission that consists of something else than files and folders, or cannot be read; the message says so."""


def check_plain(folder: Path) -> None:
    """NotPlain when what nbgrader reads of a submission is no ordinary file (its folder, a notebook, a timestamp), or
    the timestamp no time, on which nbgrader would fail."""
    for place in (folder.parent, folder):
        if place.is_symlink():
            raise NotPlain(f"{place} is a symbolic link, not a folder that was handed in.")
        if _is_closed(place):
            raise NotPlain(f"{place} cannot be opened: Permission denied. Change its permissions.")
    for file in [*folder.glob("*.ipynb"), folder / "timestamp.txt"]:
        kind = _kind(file)
        if kind not in ("file", "nothing"):
            raise NotPlain(f"{file} is a {kind}, not a file. Have it handed in again.")
        if kind == "file" and _is_closed(file):
            raise NotPlain(f"{file} cannot be read: Permission denied. Change its permissions.")
    if not _tells_time(folder):
        raise NotPlain(f"{folder / 'timestamp.txt'} does not say a time. Write one like 2026-11-29 23:00:00 UTC into "
                       "it, or delete it.")


def odd_files(folder: Path, most: float) -> Iterator[tuple[Path, str]]:
    """What is never copied out of a submission, and why: links, pipes, devices, what has more than `most` bytes, what
    this account may not read."""
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *files)):
            kind = _kind(path)
            if kind not in ("file", "folder"):
                yield path, f"it is a {kind}"
            elif _is_closed(path):
                yield path, f"the permissions of this {kind} do not let it be read"
            elif kind == "file" and path.lstat().st_size > most:
                yield path, f"it has {path.lstat().st_size / 1e6:.0f} MB"


def _tells_time(folder: Path) -> bool:
    """Whether nbgrader can read when a submission was handed in, if anything is said about it."""
    file = folder / "timestamp.txt"
    try:
        if file.exists() and file.stat().st_size > MOST_OF_A_TIME:
            return False
        text = file.read_text().strip() if file.exists() else ""
        return not text or parse_utc(text) is not None
    except (ValueError, OverflowError):
        return False


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "nothing"
    for holds, kind in ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "symbolic link"),
                        (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket")):
        if holds(mode):
            return kind
    return "device"


def _is_closed(path: Path) -> bool:
    """Whether this account may not read a file, or not look into a folder."""
    return path.exists() and not os.access(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK)


# ---- autograding -------------------------------------------------------------------------------------------


class GuardedExporter(NotebookExporter):
    """nbconvert's exporter of notebooks; one that an Autograde converter makes puts the guards around its maker."""

    locks = Bool(True, help="Whether autograding holds the assignment for itself.").tag(config=True)

    def __init__(self, **kwargs) -> None:
        super().__init__(**kwargs)
        if isinstance(self.parent, Autograde) and not hasattr(self.parent, "guarded"):
            self.parent.guarded = True
            _guard(self.parent, self.locks)


def _guard(converter: Autograde, locks: bool) -> None:
    """Around three steps of this one converter: all of it, a submission's begin, the copying of its files."""
    grade, begin, copy = converter.convert_notebooks, converter.init_destination, converter.init_assignment
    folders: CourseDirectory = converter.coursedir

    def locked() -> None:
        try:
            with lock(state_of(folders), folders.assignment_id):
                check_writable(folders)
                grade()
        except Refused as refused:
            converter.log.error("%s", refused)
            raise NbGraderException(str(refused)) from None

    def plain(assignment: str, student: str) -> bool:
        check_plain(_submitted(folders, assignment, student))
        return begin(assignment, student)

    def without_odd_files(assignment: str, student: str) -> None:
        ignored, folder = folders.ignore, _submitted(folders, assignment, student)
        odd = list(odd_files(folder, 1000.0 * folders.max_file_size))
        for path, why in odd:
            converter.log.warning("Not copied: %s: %s", path.relative_to(folder), why)
        folders.ignore = [*ignored, *{glob.escape(path.name) for path, _ in odd if path.suffix != ".ipynb"}]
        try:
            copy(assignment, student)
        finally:
            folders.ignore = ignored

    converter.init_destination, converter.init_assignment = plain, without_odd_files
    if locks:
        converter.convert_notebooks = locked


def _submitted(folders: CourseDirectory, assignment: str, student: str) -> Path:
    return Path(folders.format_path(folders.submitted_directory, student, assignment))


# ---- collecting --------------------------------------------------------------------------------------------


class Collect(ExchangeCollect):
    """nbgrader's collect, for which the exchange is a place where strangers write: files are copied, links are not.

    What a later step wants to find beside a notebook, a time and a secret, is put there where it is missing.
    A time that is none would stop nbgrader's next collect, for all.
    """

    def do_copy(self, src, dest, log=None) -> None:
        folders = self.coursedir
        if os.path.islink(src):
            self.log.error("Not collected: %s is a symbolic link", src)
            return
        if _is_closed(Path(src)):
            self.log.error("Not collected: %s cannot be opened: Permission denied", src)
            return
        odd_ones = dict(odd_files(Path(src), 1000.0 * folders.max_file_size))
        for path, why in odd_ones.items():
            self.log.warning("Not collected: %s: %s", path, why)
        size = sum(path.lstat().st_size for path in Path(src).rglob("*") if path not in odd_ones)
        if size > 1000 * folders.max_dir_size:
            self.log.error("Not collected: %s has %.0f MB", src, size / 1e6)
            return
        ignored = ignore_patterns(exclude=folders.ignore, include=folders.include,
                                  max_file_size=folders.max_file_size, log=self.log)

        def left_out(folder: str, names: list[str]) -> set[str]:
            odd = {name for name in names if Path(folder, name) in odd_ones
                   or _kind(Path(folder, name)) not in ("file", "folder")}
            return odd | set(ignored(folder, [name for name in names if name not in odd]))

        def copied(source: str, target: str) -> str:
            try:
                given = open(source, "rb", opener=_opened)
            except OSError as error:  # no file any more, or one that nobody may read
                self.log.warning("Not collected: %s: %s", source, error.strerror)
                return target
            with given, open(target, "wb") as taken:
                if stat.S_ISREG(os.fstat(given.fileno()).st_mode):
                    shutil.copyfileobj(given, taken)
            return target

        shutil.copytree(src, dest, ignore=left_out, copy_function=copied)
        for place in (Path(dest), *Path(dest).rglob("*")) if folders.groupshared else (Path(dest),):
            place.chmod(place.stat().st_mode | (0o700 if not folders.groupshared else
                                                0o2770 if place.is_dir() else 0o660))
        self._complete(Path(dest), os.path.basename(src))

    def _complete(self, folder: Path, name: str) -> None:
        if not (folder / "timestamp.txt").exists() or not _tells_time(folder):  # a learner's may say anything
            (folder / "timestamp.txt").write_text(f"{self._path_to_record(name)['timestamp']} UTC")
        if not (folder / "submission_secret.txt").exists():
            (folder / "submission_secret.txt").write_text(secrets.token_hex(32))


def _opened(path: str, flags: int) -> int:
    """Who owns the folder can put a link or a pipe in a file's place at any moment."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


# ---- releasing feedback ------------------------------------------------------------------------------------


class ReleaseFeedback(ExchangeReleaseFeedback):
    """nbgrader's release_feedback, which leaves out whom the exchange cannot reach and goes on with the others.

    A page lies in the exchange under a name made from the secret that submitting left beside the notebook: what was
    put into submitted/ by other ways has none, nor anybody who could fetch the page.
    """

    def copy_files(self) -> None:
        names = self.coursedir.format_path(self.coursedir.feedback_directory, "(?P<student>.*)",
                                           self.coursedir.assignment_id, escape=True)
        excluded, left_out = self.coursedir.student_id_exclude.split(","), []
        for folder in sorted(glob.glob(self.src_path)):
            if not glob.glob(os.path.join(glob.escape(folder), "*.html")):
                continue
            if all(os.path.isfile(os.path.join(folder, name)) for name in ("submission_secret.txt", "timestamp.txt")):
                self.src_path = glob.escape(folder)
                super().copy_files()
            elif (found := re.fullmatch(names, folder)) and found["student"] not in excluded:
                left_out.append(found["student"])
        if left_out:
            self.log.warning("Not released, since these were not handed in through the exchange: %s. Give them their "
                             "pages in %s yourself.", ", ".join(left_out), self.coursedir.feedback_directory)
