"""Sealed grading: a preprocessor in place of nbgrader's `Execute`, so that every button and command grades sealed.

The learner's cells run in a sandbox (`sandbox.py`, `inside.py`). Grade cells never run: they are read, as data, from
the gradebook's own source; the judge, outside, draws their trials, sends the inputs in, takes plain frames out, rules,
and writes the cells' outputs. Whatever a submission prints or sends is the learner's word: shown, and never a mark.
"""
from __future__ import annotations

import ast
import base64
import binascii
import logging
import re
import select
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import get_args, get_type_hints

import bleach
from nbconvert.filters import markdown2html
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.corpus.words import generate_corpus_id
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import setenv
from traitlets import Bool, Float, Integer, Unicode

from autograder import grading
from autograder.classroom.config import course_seed
from autograder.classroom.sandbox import Limits, NoSandbox, Sandbox, StartFailed, require
from autograder.classroom.seal import configure
from autograder.notebook import OPTIONS, judge_choice, no_option
from autograder.ranks import wire
from autograder.ranks.ledger import Call
from autograder.ranks.processes import Family, StartError, start_server
from autograder.ranks.report import RankOutcome
from autograder.verdict import Verdict, plain_text

__all__ = ["Check", "Choice", "Mark", "SealedExecute", "configure", "read_grade_cell"]
RIGHT, WRONG, ERROR, LIMIT, INFRASTRUCTURE = OUTCOMES = ("right", "wrong", "error", "limit", "infrastructure")
MIME = "application/vnd.autograder.mark+json"  # an output's data for reports: outcome, credit, verdict
MAX_ANSWER = 192 * 2**20
MAX_PICTURE = 2**21
MAX_NOTEBOOK = 8 * 2**20  # bytes of learners' outputs kept in one notebook
JUDGE_SECONDS = 120.0
WARNING_SECONDS = 3.0
_LOOK = 0.25
_ENDS = ("returned", "raised", "died", "waiting", "running", "silent")
_USED_UP = ("MemoryError", "can't allocate memory", "not enough memory", "Cannot allocate memory", "std::bad_alloc",
              "No space left on device", "File too large")


# ---- grade cells as data -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """A grade cell `check(name)`: which function of the notebook is graded as which exercise, on which trials."""

    exercise: str
    name: str
    trials: str = "visible"


@dataclass(frozen=True)
class Choice:
    """A grade cell `check_choice("id", name)`: which variable holds the letter, which is right, and why."""

    id: str
    name: str
    key: str
    reasons: Mapping[str, str] = field(default_factory=dict)


def read_grade_cell(source: str) -> Check | Choice:
    """What a grade cell asks, read without running it. ValueError, with what is wrong, for any other cell."""
    try:
        calls = [statement.value for statement in ast.parse(source).body if isinstance(statement, ast.Expr)]
        others = [statement for statement in ast.parse(source).body if not isinstance(statement, ast.Expr)]
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"it is no Python: {error}") from None
    names = {call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else "" for call in calls}
    if others or not calls or names not in ({"check"}, {"check_choice"}):
        raise ValueError("it holds more than calls of check(name) or check_choice(\"id\", name)")
    read = [_arguments(call) for call in calls]
    return _choice(read) if names == {"check_choice"} else _check(read)


def _arguments(call: ast.Call) -> tuple[list, dict]:
    """Positional and keyword arguments: variables as ast.Name, everything else as the value of its literal."""
    def value(node: ast.expr) -> object:
        return node if isinstance(node, ast.Name) else ast.literal_eval(node)

    try:
        return [value(node) for node in call.args], {word.arg: value(word.value) for word in call.keywords}
    except ValueError:
        raise ValueError(f"an argument of {ast.unparse(call)[:80]} is no plain name and no literal") from None


def _check(calls: list[tuple[list, dict]]) -> Check:
    asked = set()
    for positional, words in calls:
        exercise = words.get("exercise", positional[1] if len(positional) == 2 else None)
        if not 1 <= len(positional) <= 2 or not isinstance(positional[0], ast.Name) \
                or set(words) - {"exercise", "trials"}:
            raise ValueError("a check is check(name), with an exercise and trials if need be")
        asked.add((exercise or positional[0].id, positional[0].id))
    trials = {words.get("trials", "visible") for _, words in calls}
    if len(asked) != 1 or trials - {"visible", "all"}:
        raise ValueError("its checks do not ask for one function and one exercise")
    ((exercise, name),) = asked
    return Check(str(exercise), name, "all" if "all" in trials else "visible")


def _choice(calls: list[tuple[list, dict]]) -> Choice:
    asked = {(positional[0], positional[1].id) for positional, _ in calls
             if len(positional) == 2 and isinstance(positional[0], str) and isinstance(positional[1], ast.Name)}
    keyed = [words for _, words in calls if "key" in words]
    if len(asked) != 1 or not keyed:
        raise ValueError("a question needs check_choice(\"id\", name), and a hidden one with its key")
    ((id, name),) = asked
    key, reasons = keyed[-1]["key"], keyed[-1].get("reasons") or {}
    if not isinstance(key, str) or not isinstance(reasons, dict):
        raise ValueError("the key of a question is a letter, its reasons a dictionary")
    return Choice(id, name, key, {str(letter): str(reason) for letter, reason in reasons.items()})


# ---- marks -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """How a grade cell ended: one of OUTCOMES, and the verdict that says why."""

    outcome: str
    verdict: Verdict

    @property
    def judged(self) -> bool:
        return self.outcome != INFRASTRUCTURE

    def outputs(self, points: float) -> list[NotebookNode]:
        """The outputs of the grade cell: the verdict, and last the points as one plain number."""
        shown = new_output("display_data", {
            "text/plain": str(self.verdict), "text/html": self.verdict._repr_html_(),
            MIME: {"outcome": self.outcome, "credit": self.verdict.credit, "verdict": self.verdict.to_dict()}})
        if not self.judged:
            # SaveSealedGrades leaves it without a mark; should anything else read it, it must not mean full marks.
            return [shown, new_output("error", ename="NeedsManualGrade", evalue=self.verdict.message,
                                      traceback=[self.verdict.message])]
        points = min(max(float(points) * self.verdict.credit, 0.0), float(points))
        return [shown, new_output("execute_result", {"text/plain": repr(points)}, execution_count=None)]


def _mark(outcome: str, exercise: str, diagnosis: str | None, message: str) -> Mark:
    return Mark(outcome, Verdict(exercise, False, 0.0, diagnosis, message, backend="none"))


def mark_choice(choice: Choice, letter: object, kind: str) -> Mark:
    """The mark for a letter, or for a value of another kind that is none."""
    if letter is None and kind != "NoneType":  # what was no text did not cross
        return _mark(ERROR, choice.id, "wrong-type", no_option(f"a {kind}", tuple(choice.reasons) or OPTIONS))
    verdict = judge_choice(choice.id, letter, choice.key, choice.reasons)
    outcome = RIGHT if verdict.passed else WRONG if verdict.diagnosis == "wrong-answer" else ERROR
    return Mark(outcome, verdict)


def _outcome_of(verdict: Verdict, outcomes: list[list[RankOutcome]]) -> str:
    if verdict.passed:
        return RIGHT
    if verdict.diagnosis == "timed-out":
        return LIMIT
    if verdict.diagnosis in ("raised", "unneeded-error", "rank-crashed", "not-implemented"):
        errors = [f"{o.error['type']}: {o.error['message']}" for ranks in outcomes for o in ranks if o.error]
        return LIMIT if any(words in error for error in errors for words in _USED_UP) else ERROR
    return WRONG


# ---- the judge and the sandbox, seen from the grader --------------------------------------------------------


class Infrastructure(RuntimeError):
    """Something of ours failed: no fault of the submission."""


class Ended(RuntimeError):
    """The submission's processes are gone, or were ended. kind: "time", "memory", "processes", "output", "died"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Judge:
    """The judge in a process of its own, with a deadline."""

    def __enter__(self) -> _Judge:
        try:
            self._family = Family("autograder.judge:serve", 1)
        except StartError as error:
            raise Infrastructure(f"the judge did not start: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._family.end()

    def ask(self, **order: object) -> dict:
        channel = self._family.channels[0]
        try:
            wire.send(channel, wire.encode(order))
            body = _receive(channel, time.monotonic() + JUDGE_SECONDS, wire.MAX_FRAME)
        except (OSError, Ended) as error:
            raise Infrastructure(f"the judge did not answer: {error}") from None
        return wire.decode(body)


class Session:
    """One submission in its sandbox. `ask` raises Ended, or Infrastructure when it did not even start."""

    def __init__(self, limits: Limits, *, sealed: bool = True) -> None:
        try:
            self.sandbox = Sandbox(limits, sealed=sealed)
        except (StartFailed, OSError) as error:
            raise Infrastructure(str(error)) from None
        try:
            self.ask({"do": "start", "limits": asdict(limits)}, 120.0)
        except Ended as error:
            said = self.sandbox.said()
            self.end()
            raise Infrastructure(f"the sandbox did not get ready: {error} {said}".strip()) from None
        except BaseException:
            self.end()
            raise

    def ask(self, order: dict, seconds: float) -> dict:
        channel = self.sandbox.channel
        self._deadline = time.monotonic() + seconds
        self._warned: float | None = None
        self.exceeded = ""
        try:
            channel.settimeout(max(seconds, 1.0))
            wire.send(channel, wire.encode(order))
            answer = wire.decode(_receive(channel, self._deadline + WARNING_SECONDS, MAX_ANSWER, self._look))
        except TimeoutError:
            raise Ended("time", "it took no more orders") from None
        except OSError:
            raise Ended("died", "all of its processes ended") from None
        except wire.WireError as error:
            raise Ended("output", f"it sent what is no answer ({error})") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("did"), str):
            raise Ended("output", "it sent what is no answer")
        return answer

    def _look(self) -> None:
        """Have the warden end what exceeds a limit; if that does not help soon, end everything."""
        exceeded = self.sandbox.over_limit() or ("time" if time.monotonic() > self._deadline else "")
        if exceeded and self._warned is None:
            self.exceeded = exceeded
            self._warned = time.monotonic()
            self.sandbox.warn()
        elif exceeded and time.monotonic() - self._warned > WARNING_SECONDS:
            raise Ended(exceeded, f"its processes used more {exceeded} than is allowed")

    def end(self) -> None:
        self.sandbox.end()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


_LENGTH = struct.Struct("<Q")
_OURS = ("This could not be graded, through no fault of the answer: {}\n"
         "It needs a mark by hand, or another run of autograde.")


def _receive(channel: socket.socket, deadline: float, limit: int, look: Callable[[], None] = lambda: None) -> bytes:
    """One frame of at most `limit` bytes by the deadline; Ended otherwise. `look` is called now and then."""
    frame, length, looked = bytearray(), None, time.monotonic()
    while length is None or len(frame) < length:
        now = time.monotonic()
        if now >= deadline:
            raise Ended("time", "it did not end in time")
        if now - looked >= _LOOK:
            look()
            looked = time.monotonic()
        if not select.select([channel], [], [], min(_LOOK, deadline - now))[0]:
            continue
        piece = channel.recv(min(1 << 20, (length or _LENGTH.size) - len(frame)))
        if not piece:
            raise Ended("died", "all of its processes ended")
        frame += piece
        if length is None and len(frame) == _LENGTH.size:
            (length,) = _LENGTH.unpack(frame)
            frame.clear()
            if length > limit:
                raise Ended("output", f"it sent {length} bytes at once")
    return bytes(frame)


def checked_outcomes(answer: object, plan: dict) -> list[list[RankOutcome]]:
    """The outcomes in an answer from inside, every field of the right kind; ValueError for anything else."""
    trials = plan["trials"]
    if type(answer) is not list or not 1 <= len(answer) <= len(trials):
        raise ValueError("outcomes of another number of trials")
    return [_checked_ranks(ranks, arguments, plan["stage"]) for ranks, arguments in zip(answer, trials, strict=False)]


def _checked_ranks(ranks: object, arguments: list, stage: str) -> list[RankOutcome]:
    if type(ranks) is not list or len(ranks) != len(arguments):
        raise ValueError("outcomes of another number of ranks")
    return [_checked_outcome(rank, data, len(wire.decode(arguments[rank])), stage) for rank, data in enumerate(ranks)]


def _checked_outcome(rank: int, data: object, arguments: int, stage: str) -> RankOutcome:
    _require(type(data) is dict and set(data) == {field.name for field in RankOutcome.__dataclass_fields__.values()},
             "an outcome with other fields")
    _require(data["rank"] == rank and type(data["rank"]) is int and data["end"] in _ENDS, "an outcome of another rank")
    for name, kinds in (("exit", (int, type(None))), ("communicating", (bool,)), ("cpu", (float, int)),
                        ("own_group", (bool,)), ("output", (str,)), ("calls", (list,)), ("frames", (list,)),
                        ("error", (dict, type(None))), ("result", (bytes, type(None)))):
        _require(type(data[name]) in kinds, f"{name} is a {type(data[name]).__name__}")
    _require(len(data["output"]) <= 2**16 and len(data["calls"]) <= 10_000 and len(data["frames"]) <= 200, "too much")
    _require(data["result"] is not None or data["end"] != "returned", "a return without a result")
    _require((data["end"] == "raised") == (data["error"] is not None), "an end without what belongs to it")
    _require(all(map(_is_frame, data["frames"])), "a frame that is none")
    if data["error"] is not None:
        _check_error(data["error"])
    if data["result"] is not None:
        result = wire.decode(data["result"])  # WireError is a ValueError
        if data["end"] == "returned":
            _check_result(result, arguments, stage)
    calls = [_checked_call(call) for call in data["calls"]]
    return RankOutcome(**{**data, "calls": calls})


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def _is_frame(frame: object) -> bool:
    return type(frame) is list and [type(part) for part in frame] == [str, int, str]


def _check_error(error: dict) -> None:
    _require({"type", "bases", "message", "frames", "in_torch"} <= set(error), "an error with other fields")
    _require(type(error["type"]) is str and type(error["message"]) is str and type(error["in_torch"]) is bool
             and len(error["type"]) <= 500 and len(error["message"]) <= 8000, "an error that is none")
    _require(type(error["bases"]) is list and len(error["bases"]) <= 100
             and all(type(base) is str for base in error["bases"]), "bases that are none")
    _require(type(error["frames"]) is list and len(error["frames"]) <= 100 and all(map(_is_frame, error["frames"])),
             "frames that are none")


def _check_result(value: object, arguments: int, stage: str) -> None:
    _require(type(value) is dict, "a result that is none")
    if stage == "autograder.stages.call:call":
        _require(set(value) == {"value", "arguments", "gradients", "requires_grad"}, "a result with other fields")
        for name, kind in (("arguments", tuple), ("gradients", list), ("requires_grad", list)):
            _require(type(value[name]) is kind and len(value[name]) == arguments, f"{name} of another number")
        _require(all(type(flag) is bool for flag in value["requires_grad"]), "requires_grad that is no bool")


def _checked_call(call: object) -> Call:
    _require(type(call) is dict and set(call) == set(_CALL_FIELDS), "a call with other fields")
    _require(all(type(call[name]) in kinds for name, kinds in _CALL_FIELDS.items()), "a call that is none")
    _require(0 <= call["elements"] < 2**63 and 0 <= call["sequence"] < 100_000, "a call with numbers that none has")
    return Call.from_dict(call)


_CALL_FIELDS = {name: get_args(kind) or (kind,) for name, kind in get_type_hints(Call).items()}


# ---- the preprocessor --------------------------------------------------------------------------------------


class StopGrading(NoSandbox, KeyboardInterrupt):
    """Ends the whole run: nbgrader clears the submission it was at away, as after Ctrl-C, and goes on to no other."""


def questions(db_url: str, assignment: str, notebook: str) -> tuple[dict[str, float], dict[str, str]]:
    """The grade cells of a notebook, from the gradebook: what each is worth, and the source of those of code."""
    with Gradebook(db_url) as gradebook:
        found = gradebook.find_notebook(notebook, assignment)
        answers = {cell.name for cell in found.solution_cells}
        points = {cell.name: float(cell.max_score) for cell in found.grade_cells if cell.name not in answers}
        sources = {cell.name: cell.source for cell in found.source_cells
                   if cell.name in points and cell.cell_type == "code"}
    return points, sources


class SealedExecute(NbGraderPreprocessor):
    """Run a submission's cells in a sandbox and have its grade cells judged outside."""

    secret_file = Unicode("", help="Where the course's secret is kept; made at first use.").tag(config=True)
    unsealed = Bool(False, help="Grade without a sandbox: submissions run with your rights.").tag(config=True)
    cell_timeout = Float(60.0, help="Seconds that a cell of a learner may run.").tag(config=True)
    check_timeout = Float(150.0, help="Seconds for the ranks of one grade cell.").tag(config=True)
    submission_timeout = Float(900.0, help="Seconds for a whole submission.").tag(config=True)
    memory = Integer(Limits.memory, help="Bytes that one process may allocate.").tag(config=True)
    total_memory = Integer(Limits.total_memory, help="Bytes that a submission may hold.").tag(config=True)
    processes = Integer(Limits.processes, help="Processes and threads of a submission.").tag(config=True)
    files = Integer(Limits.files, help="Bytes in each of its two writable folders.").tag(config=True)
    output = Integer(Limits.output, help="Characters that a cell may print.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        names = resources["nbgrader"]
        points, sources = questions(names["db_url"], names["assignment"], names["notebook"])
        run = self._graded(nb.cells, sources)
        unjudged = []
        for index, cell in enumerate(nb.cells):
            if cell.cell_type != "code":
                continue
            cell.execution_count = None
            name = run.grade_cells.get(index)
            cell.outputs = run.marks[name].outputs(points[name]) if name else run.outputs.get(index, [])
            if name and not run.marks[name].judged:
                unjudged.append(name)
        for name, mark in run.marks.items():
            level = logging.INFO if mark.judged else logging.ERROR
            self.log.log(level, "%s: %s%s", name, mark.outcome,
                         f" ({mark.verdict.diagnosis})" if mark.verdict.diagnosis else "")
        names["unjudged"] = unjudged
        return nb, resources

    def _get_ready(self) -> None:
        if self.unsealed:
            self.log.warning("Grading WITHOUT a sandbox (SealedExecute.unsealed): submissions run with your rights.")
        else:
            try:
                require()
            except NoSandbox as error:
                self.log.error("%s", error)
                raise StopGrading(str(error)) from None
        start_server(grading.PRELOAD)

    def _graded(self, cells: list[NotebookNode], sources: dict[str, str]) -> _Run:
        """Two attempts at most: the second when something of ours failed, or the sandbox died without a reason."""
        self._get_ready()
        for attempt in (1, 2):
            run = _Run(self, cells, sources)
            try:
                run.go(last=attempt == 2)
                break
            except Infrastructure as error:
                self.log.warning("Attempt %d: %s", attempt, error)
                run.give_up(str(error))
        return run

    @property
    def limits(self) -> Limits:
        return Limits(self.memory, self.total_memory, self.processes, self.files, self.output)

    def hidden_seed(self, exercise: str) -> int:
        """The seed of an exercise's hidden trials: the same for the class and for every regrade."""
        course = self.config.CourseDirectory.get("course_id", "")
        secret = course_seed(self.secret_file, course) if self.secret_file else ""
        with setenv(**{grading.COURSE_SEED: secret}):
            return grading.course_seed(exercise)


class _Run:
    """One attempt at a submission: the outputs of its cells and the marks of its grade cells, in order."""

    def __init__(self, settings: SealedExecute, cells: list[NotebookNode], sources: dict[str, str]) -> None:
        self.settings = settings
        self.cells = cells
        self.outputs: dict[int, list[NotebookNode]] = {}
        self.marks: dict[str, Mark] = {}
        self.tasks: dict[str, Check | Choice | str] = {}
        for name, source in sources.items():
            try:
                self.tasks[name] = read_grade_cell(source)
            except ValueError as error:
                self.tasks[name] = str(error)
        self.grade_cells: dict[int, str] = {}
        for index, cell in enumerate(cells):
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in self.tasks and cell.cell_type == "code" and name not in self.grade_cells.values():
                self.grade_cells[index] = name
        self.ended: Ended | None = None
        self.stopped = ""
        self.where = ""
        self.room = MAX_NOTEBOOK

    def go(self, last: bool) -> None:
        self.deadline = time.monotonic() + self.settings.submission_timeout
        with Session(self.settings.limits, sealed=not self.settings.unsealed) as session:
            for index, cell in enumerate(self.cells):
                if cell.cell_type != "code":
                    continue
                try:
                    if index in self.grade_cells:
                        self.where = f"in the check of {self.grade_cells[index]}"
                        self.marks[self.grade_cells[index]] = self._mark(session, self.grade_cells[index], last)
                    elif cell.source.strip():
                        self.where = f"in cell {index + 1}"
                        self.outputs[index] = self._run_cell(session, cell.source, index)
                except Ended as ended:
                    if ended.kind == "died" and not last:
                        raise Infrastructure(f"{self.where}: {ended}") from None
                    self._note_end(ended)
                    if index in self.grade_cells:
                        self.marks[self.grade_cells[index]] = self._lost(self.grade_cells[index])
                    else:
                        self.outputs[index] = [_error("Ended", str(self.ended))]

    def give_up(self, why: str) -> None:
        """Leave the grade cells that have no mark to a person."""
        for name in self.grade_cells.values():
            self.marks.setdefault(name, _mark(
                INFRASTRUCTURE, name, None, _OURS.format(why)))
        for index, cell in enumerate(self.cells):
            if cell.cell_type == "code" and cell.source.strip() and index not in self.grade_cells:
                self.outputs.setdefault(index, [_error("NotRun", "This cell could not be run.")])

    def _note_end(self, ended: Ended) -> None:
        self.ended = Ended(ended.kind, f"The notebook's process was lost {self.where}: {ended}.")
        self.settings.log.warning("%s", self.ended)

    def _left(self, seconds: float) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Ended("time", f"the submission used up its {self.settings.submission_timeout:g} seconds")
        return min(seconds, left)

    def _run_cell(self, session: Session, source: str, index: int) -> list[NotebookNode]:
        if self.ended is not None:
            return [_error("NotRun", f"This cell was not run. {self.ended}")]
        seconds = self._left(self.settings.cell_timeout)
        answer = session.ask({"do": "cell", "source": source, "number": index + 1, "seconds": seconds}, seconds + 15.0)
        if answer["did"] != "cell":
            raise self._told(answer)
        outputs = self._cleaned(answer.get("outputs"))
        stopped = answer.get("stopped") is True
        if stopped:
            self.stopped = f"Cell {index + 1} was stopped after {seconds:.0f} seconds."
            outputs.append(_error("Timeout", self.stopped))
        if answer.get("ended") is not None:
            kind = "time" if stopped else "memory" if answer.get("over") is True else "died"
            self._note_end(Ended(kind, plain_text(answer["ended"], 300)))
            outputs.append(_error("Ended", str(self.ended)))
        return outputs

    def _told(self, answer: dict) -> Exception:
        """What an answer that is not the one expected means."""
        why = plain_text(answer.get("why"), 500)
        if answer["did"] == "failed":
            return Infrastructure(f"{self.where}: {why}")
        return Ended("died" if answer["did"] == "ended" else "output", why)

    def _lost(self, name: str) -> Mark:
        kind = self.ended.kind if self.ended else "died"
        diagnosis = "timed-out" if kind == "time" else "rank-crashed"
        return _mark(LIMIT if kind != "died" else ERROR, name, diagnosis, str(self.ended))

    def _mark(self, session: Session, name: str, last: bool) -> Mark:
        task = self.tasks[name]
        if isinstance(task, str):
            return _mark(INFRASTRUCTURE, name, None,
                         f"This check cannot be graded sealed: {task}.\nIt needs a mark by hand.")
        if self.ended is not None:
            return self._lost(name)
        try:
            return self._choice(session, task) if isinstance(task, Choice) else self._check(session, task)
        except (Infrastructure, LookupError) as error:
            if not last:
                raise Infrastructure(f"{self.where}: {error}") from error
            return _mark(INFRASTRUCTURE, name, None, _OURS.format(error))

    def _choice(self, session: Session, task: Choice) -> Mark:
        answer = session.ask({"do": "value", "name": task.name}, self._left(30.0))
        if answer["did"] != "value":
            raise self._told(answer)
        return mark_choice(task, answer.get("value"), plain_text(answer.get("type"), 60))

    def _check(self, session: Session, task: Check) -> Mark:
        began = time.monotonic()
        with _Judge() as judge:
            plan = judge.ask(do="plan", exercise=task.exercise, trials=task.trials,
                             seed=self.settings.hidden_seed(task.exercise))
            answer = session.ask({"do": "check", "name": task.name, "stage": plan["stage"], "group": plan["group"],
                                  "timeout": plan["timeout"], "trials": plan["trials"]},
                                 self._left(self.settings.check_timeout))
            if answer["did"] == "no function":
                why = plain_text(answer.get("why"), 1000)
                if self.stopped and answer.get("callable") is not True:
                    return _mark(LIMIT, task.exercise, "timed-out", f"{self.stopped}\n{why}")
                key = "raised" if answer.get("callable") is True else "not-implemented"
                return _mark(ERROR, task.exercise, key, why)
            if answer["did"] == "too much":
                return _mark(LIMIT, task.exercise, "rank-crashed", plain_text(answer.get("why"), 300))
            if answer["did"] == "over limit":
                key = "timed-out" if session.exceeded == "time" else "rank-crashed"
                return _mark(LIMIT, task.exercise, key, f"The check was stopped: the ranks used more "
                             f"{session.exceeded or 'processes'} than is allowed.")
            if answer["did"] == "nonsense":
                return self._nonsense(task, plain_text(answer.get("why"), 2000))
            if answer["did"] != "check":
                raise self._told(answer)
            try:
                outcomes = checked_outcomes(answer.get("outcomes"), plan)
            except ValueError as error:
                return self._nonsense(task, str(error))
            ruling = judge.ask(do="rule", backend="gloo", seconds=time.monotonic() - began,
                               outcomes=[[outcome.to_dict() for outcome in ranks] for ranks in outcomes])
        verdict = Verdict.from_dict(ruling["verdict"])
        return Mark(_outcome_of(verdict, outcomes), verdict)

    def _nonsense(self, task: Check, why: str) -> Mark:
        self.settings.log.warning("What the ranks of %s sent is no result: %s", task.exercise, why)
        return _mark(ERROR, task.exercise, "rank-crashed", "The ranks did not send back a result, but something else: "
                     "does the function write to file descriptors that are not its own?")

    def _cleaned(self, outputs: object) -> list[NotebookNode]:
        """A cell's outputs as nbformat wants them: plain text and pictures, nothing that a page would run."""
        found = []
        for output in outputs[:1000] if isinstance(outputs, list) else ():
            cleaned = _cleaned_output(output, self.settings.output) if isinstance(output, dict) else None
            if cleaned is None:
                continue
            size = len(str(cleaned))
            if size > self.room:
                found.append(new_output("stream", name="stdout", text="… more output left out …\n"))
                break
            self.room -= size
            found.append(cleaned)
        return found


def _cleaned_output(output: dict, limit: int) -> NotebookNode | None:
    kind, data = output.get("kind"), output.get("data")
    if kind == "stream" and isinstance(output.get("text"), str):
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return new_output("stream", name=name, text=plain_text(output["text"], limit + 200))
    if kind == "error":
        lines = [plain_text(line, 400) for line in output.get("lines", ())[:20] if isinstance(line, str)] \
            if isinstance(output.get("lines"), list) else []
        name, message = plain_text(output.get("name"), 100), plain_text(output.get("message"), 4000)
        return new_output("error", ename=name, evalue=message, traceback=[*lines, f"{name}: {message}"])
    if kind in ("display", "result") and isinstance(data, dict):
        shown = {mime: text for mime in ("image/png", "image/jpeg") if _is_picture(text := data.get(mime))}
        if isinstance(data.get("text/plain"), str):
            shown["text/plain"] = plain_text(data["text/plain"], limit)
        if not shown:
            return None
        return new_output("display_data", shown) if kind == "display" else \
            new_output("execute_result", shown, execution_count=None)
    return None


def _is_picture(text: object) -> bool:
    if not isinstance(text, str) or len(text) > MAX_PICTURE:
        return False
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return False
    return content.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"))


def _error(name: str, message: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=message, traceback=[f"{name}: {message}"])


# ---- grades and pages --------------------------------------------------------------------------------------


class SaveSealedGrades(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, for which a grade cell that could not be judged has no mark and waits for a person."""

    def _add_score(self, cell: NotebookNode, resources: dict) -> None:
        super()._add_score(cell, resources)
        name = cell.metadata["nbgrader"]["grade_id"]
        if name in resources["nbgrader"].get("unjudged", ()):
            grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
            grade.auto_score = None
            grade.needs_manual_grade = True
            self.gradebook.db.commit()


_TAGS = frozenset(
    "a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li mark ol p pre s small "
    "span strong sub summary sup table tbody td tfoot th thead tr u ul".split())
_ATTRIBUTES = {"*": ["class", "id"], "a": ["href", "title"], "img": ["src", "alt", "title", "width", "height"],
               "td": ["align", "colspan", "rowspan"], "th": ["align", "colspan", "rowspan"], "ol": ["start"]}


def clean_html(source: str) -> str:
    """HTML without scripts, handlers, styles and links that run; what is not allowed is shown as text."""
    return bleach.clean(source, tags=_TAGS, attributes=_ATTRIBUTES)


def clean_markdown(source: str) -> str:
    """Markdown as clean HTML, whoever wrote it: in place of nbconvert's filter."""
    return clean_html(markdown2html(source))


class SanitizeLearners(Preprocessor):
    """For pages made of a submission: no HTML in a learner's outputs, and no metadata that templates act on."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        nb.metadata = NotebookNode(kernelspec=NotebookNode(name="python3", display_name="Python 3"),
                                   language_info=NotebookNode(name="python"))
        for cell in nb.cells:
            if "id" in cell and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(cell.id)):
                cell.id = generate_corpus_id()
            metadata = cell.metadata.get("nbgrader", {})
            if metadata.get("locked") and (metadata.get("grade") or not metadata.get("solution")):
                continue
            cell.pop("attachments", None)
            if cell.cell_type == "raw":
                cell.source = clean_html(cell.source)
            for output in cell.get("outputs", ()):
                if "data" in output:
                    output.data = NotebookNode({kind: value for kind, value in output.data.items()
                                                if kind in ("text/plain", "image/png", "image/jpeg")})
        return nb, resources
