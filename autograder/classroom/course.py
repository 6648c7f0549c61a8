"""A course as the commands see it: its nbgrader settings, folders, gradebook, and what was handed in."""
from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import DatabaseError, OperationalError
from traitlets.config import Config, PyFileConfigLoader

from autograder.classroom.refused import Refused
from autograder.classroom.sealed.config import configure as seal

CONFIG = "nbgrader_config.py"
LOCKED_SECONDS = 20.0


class Course:
    """The course in `root`. Raises Refused when there is none."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        if not (self.root / CONFIG).is_file():
            raise Refused(f"There is no {CONFIG} in {self.root}: run this in the root of the course.")
        try:
            self.config: Config = PyFileConfigLoader(CONFIG, path=str(self.root)).load_config()
            self.folders = CourseDirectory(config=self.config)
        except Exception as error:  # whatever stands in it
            raise Refused(f"{self.root / CONFIG} does not work: {type(error).__name__}: {error}") from None
        self.id = self.folders.course_id
        self.db_url = self.folders.db_url
        self.state = state_of(self.folders)
        if "SealedExecute" not in str(self.config.Autograde.get("autograde_preprocessors", "")):
            secret = self.config.ExecuteToTheEnd.get("secret_file") or str(self.state / "secret")
            seal(self.config, secret_file=str(secret))

    @property
    def gradebook_file(self) -> Path | None:
        """The file of the gradebook, None where it is no SQLite file."""
        return _file_of(self.db_url)

    @contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """The gradebook, open while this context lasts; Refused where it cannot be read or written."""
        try:
            with Gradebook(self.db_url, self.id) as gradebook:
                yield gradebook
        except DatabaseError as error:
            if not isinstance(error, OperationalError) and type(error) is not DatabaseError:
                raise  # a mistake in what was asked, not the gradebook's
            raise Refused(gradebook_trouble(self.gradebook_file, str(error.orig))) from None

    def notebooks(self, assignment: str) -> list[str]:
        """The notebooks of an assignment as the gradebook knows them; Refused for an unknown assignment."""
        file = self.gradebook_file
        if file is not None and not file.exists():
            raise Refused(f"There is no gradebook {file}. This makes it: {_enter(assignment)}")
        _try(file, "select count(*) from sqlite_master")  # nbgrader waits for each of its tables in turn
        with self.gradebook() as gradebook:
            try:
                found = [notebook.name for notebook in gradebook.find_assignment(assignment).notebooks]
            except MissingEntry:
                known = ", ".join(sorted(each.name for each in gradebook.assignments)) or "none"
                raise Refused(f"The gradebook knows no assignment {assignment!r} (it knows: {known}). This enters one: "
                              f"{_enter(assignment)}") from None
        if not found:
            raise Refused(f"The gradebook knows no notebook of {assignment}. This enters it: {_enter(assignment)}")
        return found

    def folder(self, step: str, student: str, assignment: str) -> Path:
        """The folder of a step ("submitted", "autograded", …) as nbgrader lays it out."""
        return Path(self.folders.format_path(getattr(self.folders, f"{step}_directory"), student, assignment))

    def students(self, assignment: str) -> list[str]:
        """Who handed this assignment in, in alphabetical order."""
        marker = "\0"
        pattern = str(self.folder("submitted", marker, assignment))
        before, _, after = pattern.partition(marker)
        found = []
        for place in Path(before).glob("*") if Path(before).is_dir() else ():
            if not place.name.startswith(".") and _is_folder(Path(f"{place}{after}")):
                found.append(place.name)
        return sorted(found)

    def check_writable(self) -> None:
        """Refused, with the reason, when gradebook or disk take no more."""
        check_writable(self.folders)

    def lock(self, assignment: str) -> AbstractContextManager[None]:
        """Hold the assignment for this process alone, as `nbgrader autograde` and formgrader do while they grade it."""
        return lock(self.state, assignment)


def _is_folder(place: Path) -> bool:
    """Whether there is this folder; also where this account may not look: who grades is told so."""
    try:
        return place.is_dir()
    except PermissionError:
        return True


def _enter(assignment: str) -> str:
    """What enters an assignment into the gradebook, whether or not its release is there already."""
    return f"nbgrader generate_assignment {assignment} --force (without --force it skips what is in release/)"


def _file_of(db_url: str) -> Path | None:
    kind, _, rest = db_url.partition(":///")
    return Path(rest.partition("?")[0]).absolute() if kind == "sqlite" and rest else None


def state_of(folders: CourseDirectory) -> Path:
    """The folder that holds gradebook, secret and results of grading."""
    file = _file_of(folders.db_url)
    return file.parent if file is not None else Path(folders.root) / ".course"


@contextmanager
def lock(state: Path, assignment: str) -> Iterator[None]:
    """Hold an assignment for this process alone; the system lets go of it whenever the process ends.

    Refused while another process grades it, or when the disk takes no more.
    """
    file = state / "graded" / assignment / "lock"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = file.open("a+b", buffering=0)
    except OSError as error:
        raise Refused(disk_trouble(error, file.parent)) from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            raise Refused(f"{assignment} is being graded already, by process {handle.read(20).decode() or '?'} on this "
                          "course. Wait for it, or end it and run this again.") from None
        try:
            handle.truncate(0)
            handle.write(str(os.getpid()).encode())
        except OSError as error:
            raise Refused(disk_trouble(error, file.parent)) from None
        yield


def check_writable(folders: CourseDirectory) -> None:
    """Refused, with the reason, when the gradebook, or the disk of it or of the graded notebooks, takes no more."""
    _try(_file_of(folders.db_url), "begin immediate", "create table probe_of_autograder (x)")
    graded = Path(folders.format_path(folders.autograded_directory, "_", "_"))
    for folder in {state_of(folders), next(place for place in graded.parents if place.is_dir())}:
        probe = folder / ".room"
        try:
            probe.write_bytes(bytes(1 << 16))
        except OSError as error:
            raise Refused(disk_trouble(error, folder)) from None
        finally:
            try:
                probe.unlink(missing_ok=True)
            except OSError:
                pass


def _try(file: Path | None, *statements: str) -> None:
    """Refused, with the reason, when the gradebook does not take these; nothing of them stays in it."""
    if file is None:
        return
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, timeout=LOCKED_SECONDS)) as book:
            for statement in statements:
                book.execute(statement)
            book.rollback()
    except sqlite3.DatabaseError as error:
        raise Refused(gradebook_trouble(file, str(error))) from None


FULL = (errno.ENOSPC, errno.EDQUOT)


def disk_trouble(error: OSError, place: Path) -> str:
    """What to tell when a file could not be written."""
    if error.errno in FULL:
        return f"The disk is full: {place} takes no more. Free some space and run this again."
    return f"{place} cannot be written: {error.strerror or error}."


def gradebook_trouble(file: Path | None, said: str) -> str:
    """What to tell when the gradebook cannot be read or written, from what the database said."""
    if file is None:
        return f"The gradebook does not work: {said}"
    if "locked" in said:
        return (f"The gradebook {file} is locked by another program. Close what holds it (a running nbgrader, "
                "formgrader, a database browser) and run this again.")
    if "not a database" in said or "malformed" in said:
        return f"The gradebook {file} is damaged ({said}). Put your last copy of it in its place and run this again."
    if "no such column" in said or "no such table" in said:
        return f"The gradebook {file} is of another nbgrader ({said}). Keep a copy of it, then: nbgrader db upgrade"
    if not file.exists() and file.parent.exists():
        return f"There is no gradebook {file}. This makes it: {_enter('ASSIGNMENT')}"
    if "readonly" in said or "read-only" in said or "unable to open" in said:
        return f"The gradebook {file} cannot be written ({said}). Change its permissions, or its folder's."
    if "full" in said:
        return f"The disk is full: the gradebook {file} takes no more. Free some space and run this again."
    return f"The gradebook {file} does not work: {said}."
