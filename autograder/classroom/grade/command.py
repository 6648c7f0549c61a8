"""`python -m autograder grade ASSIGNMENT`: grade a class sealed, in parallel, and go on where it was stopped.

Workers compute results, each a function of one submission; the results are kept beside the gradebook; this process
alone then has nbgrader write each student's (`writer.py`). So a grader that is killed has lost nothing but what was
under way.
"""
from __future__ import annotations

import argparse
import errno
import hashlib
import logging
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.exc import OperationalError
from traitlets import TraitError

from autograder.classroom.course import CONFIG, FULL, Course, Refused, disk_trouble, gradebook_trouble
from autograder.classroom.grade import submission
from autograder.classroom.grade.late import LatePenalties
from autograder.classroom.grade.progress import Logged, progress
from autograder.classroom.grade.results import Results
from autograder.classroom.grade.submission import Result, Task
from autograder.classroom.grade.workers import SCRATCH, Workers
from autograder.classroom.grade.writer import Writer, quick
from autograder.classroom.guard import NotPlain, check_plain
from autograder.classroom.marks import automatic_marks
from autograder.classroom.sealed.execute import SealedExecute, StopGrading
from autograder.classroom.sealed.grade_cells import questions
from autograder.classroom.sealed.outcomes import INFRASTRUCTURE
from autograder.classroom.sealed.sandbox import NoSandbox, require
from autograder.ranks.scratch import clear

MAX_MEGABYTES = 64.0
_DISK = (*FULL, errno.EROFS, errno.EIO)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment")
    parser.add_argument("--jobs", type=_count, metavar="N", help="processes that grade, a core each (default: all)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a running dask scheduler, say tcp://host:8786")
    parser.add_argument("--student", action="append", metavar="S", help="only this one's submission (may be repeated)")
    parser.add_argument("--exercise", metavar="E", help="only this exercise; marks of the others stay as they are")
    parser.add_argument("--force", action="store_true", help="grade again what is graded already")
    parser.add_argument("--unsealed", action="store_true", help="without a sandbox: submissions run with your rights")
    parser.add_argument("--max-megabytes", type=_megabytes, default=MAX_MEGABYTES, metavar="MB",
                        help="refuse notebooks larger than this (default: %(default)g)")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of processes, of which at least one is needed")
    return int(text)


def _megabytes(text: str) -> float:
    with suppress(ValueError):
        if float(text) > 0:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text} is no number of megabytes")


def run(arguments: argparse.Namespace) -> int:
    """0: all is graded; 1: some submission or all of it could not be, with the reason on stderr; 130: interrupted."""
    try:
        course = Course(Path.cwd())
        grading = Grading(course, arguments.assignment, students=arguments.student, exercise=arguments.exercise,
                          force=arguments.force, unsealed=arguments.unsealed, max_megabytes=arguments.max_megabytes)
        with course.lock(arguments.assignment), grading.logged(), quick():
            try:
                grading.go(arguments.jobs, arguments.scheduler)
            finally:
                for line in grading.summary():
                    print(line, flush=True)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    except TraitError as error:
        print(f"{CONFIG} does not work: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if error.errno not in _DISK:
            raise
        print(disk_trouble(error, Path(error.filename or Path.cwd())), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. What is graded is kept: the same command goes on from there.", file=sys.stderr)
        return 130
    return 1 if grading.report.failed else 0


@dataclass
class Report:
    """What a run did: students by what became of them."""

    graded: list[str] = field(default_factory=list)
    up_to_date: int = 0
    penalties: list[str] = field(default_factory=list)  # of those, whose late penalty is another one now
    by_hand: list[str] = field(default_factory=list)  # student: grade cells that a person must mark
    failed: dict[str, str] = field(default_factory=dict)  # student: why there is no mark


class Grading:
    """One run over (part of) a class. Raises Refused, with what to do, when it cannot begin or go on."""

    def __init__(self, course: Course, assignment: str, *, students: list[str] | None = None,
                 exercise: str | None = None, force: bool = False, unsealed: bool = False,
                 max_megabytes: float = MAX_MEGABYTES) -> None:
        self.course, self.assignment, self.exercise, self.force = course, assignment, exercise, force
        self.max_bytes = max_megabytes * 1e6
        self.report = Report()
        self.results = Results(course.state / "graded" / assignment)
        course.config.GuardedExporter.locks = False  # this process holds the assignment already
        if unsealed:
            course.config.SealedExecute.unsealed = True
        self.sealed = not SealedExecute(config=course.config).unsealed
        self.notebooks = course.notebooks(assignment)
        self.students = course.students(assignment)
        if not self.students:
            raise Refused(f"There are no submissions of {assignment} in {course.folder('submitted', '*', assignment)}: "
                          f"collect them first (nbgrader collect {assignment}).")
        if students:
            unknown = sorted(set(students) - set(self.students))
            if unknown:
                raise Refused(f"There is no submission of {assignment} by {', '.join(unknown)}.")
            self.students = sorted(set(students))
        for student in [each for each in self.students if each != _shown(each)]:
            self.students.remove(student)
            self.report.failed[_shown(student)] = "The name of this folder is no UTF-8 text. Rename it."
        asked = {name: questions(course.db_url, assignment, name) for name in self.notebooks}
        self.questions = {name: sources for name, (_, sources) in asked.items()}
        self.points = {name: points for name, (points, _) in asked.items()}
        self.given = {name: self._given(name) for name in self.notebooks}
        if exercise is not None and not any(exercise in sources for sources in self.questions.values()):
            known = ", ".join(name for sources in self.questions.values() for name in sources)
            raise Refused(f"{assignment} has no exercise {exercise!r}; it has {known}.")
        self.settings = submission.settings_of(course.config)
        self.seeds = {name: submission.seeds_of(sources, course.config) for name, sources in self.questions.items()}
        self.writer = Writer(course, assignment)
        self.late = LatePenalties(self.writer)
        self._pending: dict[str, dict[str, Result]] = {}
        self._keys: dict[str, dict[str, str]] = {}
        self._odd: dict[str, str] = {}  # student: why the submission is not even looked at
        self._old: dict[tuple[str, str], Result] = {}

    def logged(self) -> Logged:
        """While this context lasts, what nbgrader logs goes to a file beside the results."""
        return Logged(self.results.folder / "log.txt")

    def go(self, jobs: int | None = None, scheduler: str | None = None) -> None:
        self.course.check_writable()
        self._elsewhere = scheduler is not None
        if self.sealed and not self._elsewhere:
            try:
                require()
            except NoSandbox as error:
                raise Refused(str(error).replace("--SealedExecute.unsealed=True", "--unsealed")) from None
        if not self.sealed:
            print("Grading WITHOUT a sandbox: every submission runs with your rights.", file=sys.stderr, flush=True)
        self.results.clean()
        clear(SCRATCH, tempfile.gettempdir())
        marks = automatic_marks(self.course, self.assignment)
        todo = [student for student in self.students if not self._is_done(student, marks)]
        done = set(self.students) - set(todo)
        late = self.late.outdated({student: self._keys[student] for student in done})
        self.report.up_to_date = len(self.students) - len(todo) - len(late)
        with progress(len(todo) + len(late), self.assignment) as self._progress:
            for student in late:
                self._penalize(student)
            rest = []
            for student in todo:
                if self._from_cache(student):
                    self._write(student)
                else:
                    rest.append(student)
            if rest:
                with Workers(min(jobs, len(rest)) if jobs else None, scheduler) as workers:
                    self._grade(rest, workers)

    def summary(self) -> Iterator[str]:
        report = self.report
        yield f"{len(report.graded)} graded, {report.up_to_date} graded before, {len(report.failed)} not graded."
        if report.penalties:
            yield f"Late penalty worked out again: {', '.join(report.penalties)}"
        for line in report.by_hand:
            yield f"Needs a mark by hand: {line}"
        for student, why in sorted(report.failed.items()):
            yield f"Not graded: {student}: {why}"

    # ---- what there is to do -------------------------------------------------------------------------------

    def _files(self, student: str) -> dict[str, Path]:
        """The notebooks of the assignment that a student handed in."""
        folder = self.course.folder("submitted", student, self.assignment)
        files = {name: folder / f"{name}.ipynb" for name in self.notebooks}
        return {name: file for name, file in files.items() if file.is_file()}

    def _key(self, name: str, file: Path) -> str:
        with file.open("rb") as content:
            handed_in = hashlib.file_digest(content, "sha256").hexdigest() if hasattr(hashlib, "file_digest") \
                else hashlib.sha256(content.read()).hexdigest()
        return submission.digest([handed_in, self.given[name], self.seeds[name], self.settings,
                                  submission.engine_version()])

    def _given(self, name: str) -> list:
        """What the assignment puts into a notebook, whatever the learner made of it: the cells that are locked."""
        with self.course.gradebook() as gradebook:
            cells = gradebook.find_notebook(name, self.assignment).source_cells
            return [[cell.name, cell.cell_type, cell.source if cell.locked else None] for cell in cells]

    def _is_done(self, student: str, marks: dict[str, dict]) -> bool:
        """Whether gradebook and graded notebooks hold what grading this submission again would put there."""
        keys = self._keys[student] = {}
        if re.search(r"[*?[]", student):
            self._odd[student] = "nbgrader takes [, * and ? in a name for a pattern. Rename the folder."
            return False
        try:
            check_plain(self.course.folder("submitted", student, self.assignment))
            for name, file in self._files(student).items():
                if file.stat().st_size <= self.max_bytes:
                    keys[name] = self._key(name, file)
        except (NotPlain, OSError) as error:
            self._odd[student] = str(error)
            keys.clear()
            return False
        written = self.results.written(student)
        folder = self.course.folder("autograded", student, self.assignment)
        return (not self.force and bool(keys) and len(keys) == len(self._files(student))
                and written.get("keys") == keys and written.get("points") == self.points
                and all((folder / f"{name}.ipynb").is_file() for name in keys)
                and self._timestamp(student, "submitted") == self._timestamp(student, "autograded")
                and written.get("marks") == marks.get(student, {}))

    def _timestamp(self, student: str, step: str) -> bytes | None:
        file = self.course.folder(step, student, self.assignment) / "timestamp.txt"
        return file.read_bytes() if file.is_file() else None

    def _from_cache(self, student: str) -> bool:
        """Whether the results of all notebooks are there from before; they then wait to be written."""
        if self.force or not self._keys[student] or len(self._keys[student]) != len(self._files(student)):
            return False
        found = {name: self.results.get(student, name, key) for name, key in self._keys[student].items()}
        if not all(result is not None and result.judged for result in found.values()):
            return False
        self._pending[student] = found
        return True

    # ---- grading -------------------------------------------------------------------------------------------

    def _grade(self, students: list[str], workers: Workers) -> None:
        for (student, name), task, found in workers.map(self._tasks(students)):
            result = Result.from_dict(found) if isinstance(found, dict) else submission.given_up(task, found)
            old = self._old.pop((student, name), None)
            if old is not None:
                result = submission.merged(result, old, self.exercise)
            if result.judged:
                try:
                    self.results.put(student, name, result)
                except OSError as error:
                    raise Refused(disk_trouble(error, self.results.folder)) from None
            if student in self.report.failed:
                continue
            self._pending.setdefault(student, {})[name] = result
            if set(self._pending[student]) == set(self._keys[student]):
                self._write(student)

    def _tasks(self, students: list[str]) -> Iterator[tuple[tuple[str, str], Task, str | None]]:
        for student in students:
            tasks = []
            try:
                if student in self._odd:
                    raise Refused(self._odd[student])
                files = self._files(student)
                if not files:
                    raise Refused(self._no_notebook(student))
                self._keys[student] = {}  # of what lies there now: it may have been handed in since the run began
                for name, file in files.items():
                    tasks.append((name, self._task(student, name, file)))
            except Refused as refused:
                self._fail(student, str(refused))
                continue
            for name, task in tasks:
                only = self.exercise if self.exercise in self.questions[name] else None
                old = self.results.latest(student, name) if self.exercise is not None else None
                if old is None or old.digest != task.digest or only not in old.marks:
                    only = None  # nothing to keep from before: all of it is graded
                else:
                    self._old[student, name] = old
                yield (student, name), task, only

    def _no_notebook(self, student: str) -> str:
        folder = self.course.folder("submitted", student, self.assignment)
        wanted, there = f"{self.notebooks[0]}.ipynb", sorted(file.name for file in folder.glob("*.ipynb"))
        if not there:
            return f"{folder} holds no notebook."
        return (f"{folder} holds no {wanted}, but {', '.join(there)}. Rename it, or take the upload in with: "
                f"python -m autograder collect {self.assignment} FOLDER")

    def _task(self, student: str, name: str, file: Path) -> Task:
        """A submission after nbgrader's sanitizing steps, as data. Refused when it is no notebook."""
        try:
            size = file.stat().st_size
            if size > self.max_bytes:
                raise Refused(f"{file.name} has {size / 1e6:.0f} MB, more than the {self.max_bytes / 1e6:g} that are "
                              "accepted. Have it handed in without outputs, or raise --max-megabytes.")
            self._keys[student][name] = self._key(name, file)
        except OSError as error:
            raise Refused(f"{file} cannot be read: {error.strerror or error}.") from None
        try:
            cells = self.writer.read(student, name, file)
        except Exception as error:
            logging.getLogger("traitlets").debug("%s", traceback.format_exc())
            self.course.check_writable()
            raise Refused(f"{file.name} is no notebook that can be read ({_first_line(error)}). It needs to be handed "
                          "in again.") from None
        return Task(self._keys[student][name], submission.cells_as_data(cells), self.questions[name],
                    self.seeds[name], self.settings, submission.engine_version() if self._elsewhere else "")

    # ---- writing -------------------------------------------------------------------------------------------

    def _write(self, student: str) -> None:
        """Have nbgrader write a student's marks and graded notebooks, from the results that wait."""
        found = self._pending.pop(student)
        try:
            self.results.forget_written(student)
            self.writer.write(student, found)
            if all(result.judged for result in found.values()):
                self.results.mark_written(student, keys=self._keys[student], points=self.points,
                                          marks=automatic_marks(self.course, self.assignment, student).get(student, {}))
        except (StopGrading, Refused) as error:
            raise Refused(str(error)) from None
        except Exception as error:
            logging.getLogger("traitlets").error("%s", traceback.format_exc())
            self._fail(student, self._why_not_written(student, error))
            return
        self.report.graded.append(student)
        names = [name for result in found.values() for name, mark in result.marks.items()
                 if mark.outcome == INFRASTRUCTURE]
        if names:
            self.report.by_hand.append(f"{student}: {', '.join(names)}")
        self._progress.update()

    def _penalize(self, student: str) -> None:
        try:
            self.late.work_out(student, self._keys[student])
        except Exception as error:
            logging.getLogger("traitlets").error("%s", traceback.format_exc())
            self._fail(student, self._why_not_written(student, error))
            return
        self.report.up_to_date += 1
        self.report.penalties.append(student)
        self._progress.update()

    def _why_not_written(self, student: str, error: Exception) -> str:
        """What went wrong for this student; Refused when it is the disk or the gradebook, which the others need too."""
        if isinstance(error, OSError) and error.errno in _DISK:
            raise Refused(disk_trouble(error, self.course.folder("autograded", student, self.assignment))) from None
        if isinstance(error, OperationalError) and self.course.gradebook_file is not None:
            raise Refused(gradebook_trouble(self.course.gradebook_file, str(error.orig))) from None
        self.course.check_writable()
        return f"nbgrader could not write it ({_first_line(error)}); see {self.results.folder / 'log.txt'}"

    def _fail(self, student: str, why: str) -> None:
        """A submission that cannot be graded: the gradebook knows it and has no mark for it."""
        with self.course.gradebook() as gradebook:
            gradebook.update_or_create_student(student)
            gradebook.update_or_create_submission(self.assignment, student)
        try:
            self.results.mark_not_graded(student, why)  # export and report tell it too
        except OSError as error:
            raise Refused(disk_trouble(error, self.results.folder)) from None
        self.report.failed[student] = why
        self._progress.update()


def _shown(name: str) -> str:
    """The name of a folder as a gradebook and a terminal can hold it."""
    return name.encode("utf-8", "backslashreplace").decode()


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]
