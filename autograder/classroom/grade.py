"""`python -m autograder grade ASSIGNMENT`: grade a class sealed, in parallel, and go on where it was stopped.

Workers compute results, each a function of one submission; the results are kept beside the gradebook; this process
alone then runs nbgrader's own autograding for the student, with the result in place of an execution. So late
penalties, extensions, marks by hand, folders and the gradebook are nbgrader's, and a grader that is killed has lost
nothing but what was under way.
"""
from __future__ import annotations

import argparse
import errno
import hashlib
import logging
import math
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for
from nbformat.v4 import new_notebook
from nbgrader import api, nbgraderformat
from nbgrader.api import Assignment, BaseCell, Grade, Notebook, SubmittedAssignment, SubmittedNotebook
from nbgrader.converters import Autograde
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.exc import OperationalError, SAWarning
from tqdm import tqdm
from traitlets.config import LoggingConfigurable
from traitlets.utils.importstring import import_item

from autograder.classroom import submission
from autograder.classroom.course import FULL, Course, Refused, disk_trouble, gradebook_trouble
from autograder.classroom.grade_cells import questions
from autograder.classroom.guard import NotPlain, check_plain
from autograder.classroom.outcomes import INFRASTRUCTURE
from autograder.classroom.results import Results
from autograder.classroom.sandbox import NoSandbox, require
from autograder.classroom.sealed import SealedExecute, StopGrading
from autograder.classroom.submission import PreparedExecute, Result, Task
from autograder.classroom.workers import SCRATCH, Workers
from autograder.ranks.scratch import clear

MAX_MEGABYTES = 64.0
LOG_SECONDS = 30.0
_DISK = (*FULL, errno.EROFS, errno.EIO)
_SEALED = "autograder.classroom.sealed.SealedExecute"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment")
    parser.add_argument("--jobs", type=_count, metavar="N", help="processes that grade, a core each (default: all)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a running dask scheduler, say tcp://host:8786")
    parser.add_argument("--student", action="append", metavar="S", help="only this one's submission (may be repeated)")
    parser.add_argument("--exercise", metavar="E", help="only this exercise; marks of the others stay as they are")
    parser.add_argument("--force", action="store_true", help="grade again what is graded already")
    parser.add_argument("--unsealed", action="store_true", help="without a sandbox: submissions run with your rights")
    parser.add_argument("--max-megabytes", type=float, default=MAX_MEGABYTES, metavar="MB",
                        help="refuse notebooks larger than this (default: %(default)g)")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one process is needed")
    return number


def run(arguments: argparse.Namespace) -> int:
    """0: all is graded; 1: some submission or all of it could not be, with the reason on stderr; 130: interrupted."""
    try:
        course = Course(Path.cwd())
        grading = Grading(course, arguments.assignment, students=arguments.student, exercise=arguments.exercise,
                          force=arguments.force, unsealed=arguments.unsealed, max_megabytes=arguments.max_megabytes)
        with course.lock(arguments.assignment), grading.logged(), _quick():
            try:
                grading.go(arguments.jobs, arguments.scheduler)
            finally:
                for line in grading.summary():
                    print(line, flush=True)
    except Refused as refused:
        print(refused, file=sys.stderr)
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
        asked = {name: questions(course.db_url, assignment, name) for name in self.notebooks}
        self.questions = {name: sources for name, (_, sources) in asked.items()}
        self.points = {name: points for name, (points, _) in asked.items()}
        self.given = {name: self._given(name) for name in self.notebooks}
        if exercise is not None and not any(exercise in sources for sources in self.questions.values()):
            known = ", ".join(name for sources in self.questions.values() for name in sources)
            raise Refused(f"{assignment} has no exercise {exercise!r}; it has {known}.")
        self.settings = submission.settings_of(course.config)
        self.seeds = {name: submission.seeds_of(sources, course.config) for name, sources in self.questions.items()}
        self._pending: dict[str, dict[str, Result]] = {}
        self._keys: dict[str, dict[str, str]] = {}
        self._odd: dict[str, str] = {}  # student: why the submission is not even looked at
        self._old: dict[tuple[str, str], Result] = {}

    def logged(self) -> _Logged:
        """While this context lasts, what nbgrader logs goes to a file beside the results."""
        return _Logged(self.results.folder / "log.txt")

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
        marks = self._marks()
        todo = [student for student in self.students if not self._is_done(student, marks)]
        late = self._with_another_penalty(set(self.students) - set(todo))
        self.report.up_to_date = len(self.students) - len(todo) - len(late)
        with _progress(len(todo) + len(late), self.assignment) as self._progress:
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
                and written.get("marks") == marks.get(student))

    def _timestamp(self, student: str, step: str) -> str | None:
        file = self.course.folder(step, student, self.assignment) / "timestamp.txt"
        return file.read_text() if file.is_file() else None

    def _marks(self, *students: str) -> dict[str, dict[str, float | None]]:
        """The automatic marks that the gradebook holds: by student (default: all), then by notebook and grade cell."""
        wanted = (SubmittedAssignment.student_id, Notebook.name, BaseCell.name, Grade.auto_score)
        with self.course.gradebook() as gradebook:
            rows = gradebook.db.query(*wanted).select_from(Grade).join(BaseCell, Grade.cell_id == BaseCell.id).join(
                SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id).join(
                Notebook, SubmittedNotebook.notebook_id == Notebook.id).join(
                SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id).join(
                Assignment, SubmittedAssignment.assignment_id == Assignment.id).filter(
                Assignment.name == self.assignment)
            if students:
                rows = rows.filter(SubmittedAssignment.student_id.in_(students))
            found: dict[str, dict[str, float | None]] = {}
            for student, notebook, cell, mark in rows:
                found.setdefault(student, {})[f"{notebook}/{cell}"] = mark
            return found

    def _with_another_penalty(self, students: set[str]) -> list[str]:
        """Those of the students whose late penalty nbgrader would now work out to be another than the gradebook holds:
        after an extension, with another due date or penalty method, after marks by hand."""
        found: set[str] = set()
        if self._late is None:
            return []
        self._late.init_plugin()
        with self.course.gradebook() as gradebook:
            rows = gradebook.db.query(SubmittedAssignment, SubmittedNotebook, Notebook.name).join(
                SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id).join(
                Notebook, SubmittedNotebook.notebook_id == Notebook.id).join(
                Assignment, SubmittedAssignment.assignment_id == Assignment.id).filter(
                Assignment.name == self.assignment)
            for handed_in, notebook, name in rows:
                student = handed_in.student_id
                if student in students and name in self._keys[student] and _is_other_penalty(
                        self._late, handed_in, notebook):
                    found.add(student)
        return sorted(found)

    @cached_property
    def _late(self) -> AssignLatePenalties | None:
        """The step of autograding that works out late penalties, if the course has it."""
        parent = _Parent(config=self.course.config)
        steps = _Writer(coursedir=self.course.folders, parent=parent).autograde_preprocessors
        found = [import_item(step) if isinstance(step, str) else step for step in steps]
        late = next((step(parent=parent) for step in reversed(found)
                     if isinstance(step, type) and issubclass(step, AssignLatePenalties)), None)
        return late if late is not None and late.enabled else None

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
            files = self._files(student)
            tasks = []
            try:
                if student in self._odd:
                    raise Refused(self._odd[student])
                if not files:
                    raise Refused(self._no_notebook(student))
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
        if file.stat().st_size > self.max_bytes:
            raise Refused(f"{file.name} has {file.stat().st_size / 1e6:.0f} MB, more than the {self.max_bytes / 1e6:g} "
                          "that are accepted. Have it handed in without outputs, or raise --max-megabytes.")
        converter = self._converter(student)
        exporter = converter.exporter_class(parent=converter, config=converter.config)
        exporter._preprocessors = []
        for step in converter.sanitize_preprocessors:
            if "CheckCellMetadata" not in str(step):  # that is for what is written
                exporter.register_preprocessor(step)
        seen: list = []
        exporter.register_preprocessor(lambda nb, resources: (seen.append(nb) or nb, resources))
        resources = {"unique_key": name, "nbgrader": self._names(student, name)}
        try:
            exporter.from_filename(str(file), resources=resources)
        except Exception as error:
            logging.getLogger("traitlets").debug("%s", traceback.format_exc())
            self.course.check_writable()
            raise Refused(f"{file.name} is no notebook that can be read ({_first_line(error)}). It needs to be handed "
                          "in again.") from None
        return Task(self._keys[student][name], submission.cells_as_data(seen[0].cells), self.questions[name],
                    self.seeds[name], self.settings, submission.engine_version() if self._elsewhere else "")

    def _names(self, student: str, name: str) -> dict[str, str]:
        """What nbgrader's steps know a notebook by."""
        return {"student": student, "assignment": self.assignment, "notebook": name, "db_url": self.course.db_url}

    def _converter(self, student: str) -> _Writer:
        folders = type(self.course.folders)(config=self.course.config)
        folders.assignment_id, folders.student_id = self.assignment, student
        return _Writer(coursedir=folders, parent=_Parent(config=self.course.config))

    # ---- writing -------------------------------------------------------------------------------------------

    def _write(self, student: str) -> None:
        """Have nbgrader write a student's marks and graded notebooks, from the results that wait."""
        found = self._pending.pop(student)
        converter = self._converter(student)
        converter.force = True
        prepared = type("PreparedSubmission", (_Prepared,), {"results": found})
        steps = converter.autograde_preprocessors
        converter.autograde_preprocessors = [prepared if _is_sealed(step) else step for step in steps]
        try:
            self.results.forget_written(student)
            converter.start()
            if all(result.judged for result in found.values()):
                self.results.mark_written(student, keys=self._keys[student], points=self.points,
                                          marks=self._marks(student)[student])
        except StopGrading as error:
            raise Refused(str(error)) from None
        except Exception as error:
            logging.getLogger("traitlets").error("%s", traceback.format_exc())
            self._fail(student, self._why_not_written(student, converter.failure or error))
            return
        self.report.graded.append(student)
        names = [name for result in found.values() for name, mark in result.marks.items()
                 if mark.outcome == INFRASTRUCTURE]
        if names:
            self.report.by_hand.append(f"{student}: {', '.join(names)}")
        self._progress.update()

    def _penalize(self, student: str) -> None:
        """Have nbgrader work out a late penalty again. It reads no cell; marks stay, also those that a person saw."""
        try:
            for name in self._keys[student]:
                self._late.preprocess(new_notebook(), {"nbgrader": self._names(student, name)})
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
        try:
            with self.course.gradebook() as gradebook:
                gradebook.update_or_create_student(student)
                gradebook.update_or_create_submission(self.assignment, student)
        except OperationalError as error:
            self._why_not_written(student, error)
            raise
        try:
            self.results.mark_not_graded(student, why)  # export and report tell it too
        except OSError as error:
            raise Refused(disk_trouble(error, self.results.folder)) from None
        self.report.failed[student] = why
        self._progress.update()


class _Writer(Autograde):
    """nbgrader's Autograde, which tells in `failure` why a submission could not be written."""

    failure: Exception | None = None

    def convert_single_notebook(self, notebook_filename: str) -> None:
        with self._noted():
            super().convert_single_notebook(notebook_filename)

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        with self._noted():
            super().init_assignment(assignment_id, student_id)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failure = error
            raise


def _is_other_penalty(late: AssignLatePenalties, handed_in: SubmittedAssignment, notebook: SubmittedNotebook) -> bool:
    """Whether nbgrader's step would change a notebook's late penalty; also where it fails, which it then says."""
    try:
        penalty = None
        if handed_in.assignment.duedate is not None and handed_in.total_seconds_late > 0:
            penalty = late.plugin_inst.late_submission_penalty(
                handed_in.student_id, notebook.score, handed_in.total_seconds_late)
            penalty = penalty if penalty is None else late._check_late_penalty(notebook, penalty)
    except Exception:
        return True
    held = notebook.late_submission_penalty
    return (penalty is None) != (held is None) or (held is not None and not math.isclose(penalty, held))


def _progress(total: int, assignment: str) -> tqdm | _Lines:
    """A bar on a terminal, lines in a log."""
    if sys.stderr.isatty():
        return tqdm(total=total, unit="submission", desc=assignment, dynamic_ncols=True)
    return _Lines(total)


class _Lines:
    """How far it is, in a line now and then."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0
        self._began = self._said = time.monotonic()

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now - self._said >= LOG_SECONDS and self._done < self._total:
            self._said = now
            print(_pace(self._done, self._total, now - self._began), file=sys.stderr, flush=True)


def _pace(done: int, total: int, seconds: float) -> str:
    """How far, how fast and how long still, for people."""
    rate = done / seconds
    left = (total - done) / rate
    size, unit = (3600, "hours") if left > 5400 else (60, "minutes") if left > 90 else (1, "seconds")
    pace = (f"{rate:.1f} a second" if rate >= 1 else f"{60 * rate:.1f} a minute" if rate >= 1 / 60
            else f"{3600 * rate:.1f} an hour")
    return f"{done} of {total}, {pace}, {left / size:.0f} {unit} left"


@contextmanager
def _quick() -> Iterator[None]:
    """What nbgrader does anew some fifteen times a submission is done once while this context lasts: the gradebook's
    engine, with the statements it has compiled, the search for its tables, the check that a fixed schema is one."""
    before = api.create_engine, api.inspect, nbgraderformat.common.jsonschema
    tables = api.Base.metadata
    api.create_engine, api.inspect, tables.create_all = map(cache, (api.create_engine, api.inspect, tables.create_all))
    nbgraderformat.common.jsonschema = _Checker
    try:
        yield
    finally:
        api.create_engine, api.inspect, nbgraderformat.common.jsonschema = before
        del tables.create_all  # the method of its class is back


class _Checker:
    """jsonschema.validate, for a schema that is known to be one."""

    @staticmethod
    def validate(instance: object, schema: dict) -> None:
        error = best_match(validator_for(schema)(schema).iter_errors(instance))
        if error is not None:
            raise error


class _Prepared(PreparedExecute):
    """PreparedExecute for a student's notebooks."""

    results: dict[str, Result]

    def preprocess(self, nb, resources):
        self.result = self.results[resources["nbgrader"]["notebook"]]
        return super().preprocess(nb, resources)


def _is_sealed(step: object) -> bool:
    return step == _SEALED or (isinstance(step, type) and issubclass(step, SealedExecute))


class _Parent(LoggingConfigurable):
    """What nbgrader's converters take configuration and log from."""


class _Logged:
    """nbgrader's log in a file instead of on the terminal."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        warnings.filterwarnings("ignore", category=SAWarning)  # nbgrader's own, once for each kind of query
        try:
            self._handler = _FileHandler(self._file, mode="w")
        except OSError as error:
            raise Refused(disk_trouble(error, self._file.parent)) from None
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._before = []
        for logger in map(logging.getLogger, ("traitlets", "tornado.application")):  # the other is the gradebook's
            self._before.append((logger, logger.handlers, logger.level, logger.propagate))
            logger.handlers, logger.propagate = [self._handler], False
            logger.setLevel(logging.INFO)

    def __exit__(self, *_: object) -> None:
        for logger, handlers, level, propagates in self._before:
            logger.handlers, logger.propagate = handlers, propagates
            logger.setLevel(level)
        with suppress(OSError):
            self._handler.close()


class _FileHandler(logging.FileHandler):
    """A log that a full disk cuts short."""

    def handleError(self, record: logging.LogRecord) -> None:
        pass


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]
