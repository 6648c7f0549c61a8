"""One attempt at a submission: its cells run in a sandbox, its grade cells are judged outside."""
from __future__ import annotations

import base64
import binascii
import logging
import re
import time
from typing import Protocol

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.classroom.sealed.grade_cells import Check, Choice, read_grade_cell
from autograder.classroom.sealed.outcomes import ERROR, INFRASTRUCTURE, LIMIT, Mark, mark, mark_choice, outcome_of
from autograder.classroom.sealed.sandbox import Limits
from autograder.classroom.sealed.session import Ended, Infrastructure, Judge, Session, checked_outcomes
from autograder.verdict import Verdict, plain_text

MAX_PICTURE = 2**21
MAX_NOTEBOOK = 8 * 2**20  # bytes of learners' outputs kept in one notebook
_OURS = ("This could not be graded, through no fault of the answer: {}\n"
         "It needs a mark by hand, or another run of autograde.")


class Settings(Protocol):
    """What decides how an attempt goes (`SealedExecute` has it): limits, seconds, seeds, and where to log."""

    limits: Limits
    unsealed: bool
    cell_timeout: float
    check_timeout: float
    submission_timeout: float
    log: logging.Logger

    def hidden_seed(self, exercise: str) -> int:
        """The seed of an exercise's hidden trials."""


class Attempt:
    """One attempt at a submission: the outputs of its cells and the marks of its grade cells, in order."""

    def __init__(self, settings: Settings, cells: list[NotebookNode], sources: dict[str, str]) -> None:
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
            self.marks.setdefault(name, mark(
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
        return mark(LIMIT if kind != "died" else ERROR, name, diagnosis, str(self.ended))

    def _mark(self, session: Session, name: str, last: bool) -> Mark:
        task = self.tasks[name]
        if isinstance(task, str):
            return mark(INFRASTRUCTURE, name, None,
                         f"This check cannot be graded sealed: {task}.\nIt needs a mark by hand.")
        if self.ended is not None:
            return self._lost(name)
        try:
            return self._choice(session, task) if isinstance(task, Choice) else self._check(session, task, name)
        except (Infrastructure, LookupError) as error:
            if not last:
                raise Infrastructure(f"{self.where}: {error}") from error
            return mark(INFRASTRUCTURE, name, None, _OURS.format(error))

    def _choice(self, session: Session, task: Choice) -> Mark:
        answer = session.ask({"do": "value", "name": task.name}, self._left(30.0))
        if answer["did"] != "value":
            raise self._told(answer)
        return mark_choice(task, answer.get("value"), plain_text(answer.get("type"), 60))

    def _check(self, session: Session, task: Check, grade_cell: str) -> Mark:
        began = time.monotonic()
        with Judge() as judge:
            plan = judge.ask(do="plan", exercise=task.exercise, trials=task.trials,
                             seed=self.settings.hidden_seed(task.exercise))
            answer = session.ask({"do": "check", "name": task.name, "stage": plan["stage"], "group": plan["group"],
                                  "timeout": plan["timeout"], "trials": plan["trials"]},
                                 self._left(self.settings.check_timeout))
            if answer["did"] == "no function":
                why = plain_text(answer.get("why"), 1000)
                if self.stopped and answer.get("callable") is not True:
                    return mark(LIMIT, task.exercise, "timed-out", f"{self.stopped}\n{why}")
                if answer.get("callable") is True:
                    return mark(ERROR, task.exercise, "raised", why)
                if stop := self._where_it_stopped(task.name, grade_cell):
                    return mark(ERROR, task.exercise, "raised", f"{stop}\n{why}")
                return mark(ERROR, task.exercise, "not-implemented", why)
            if answer["did"] == "too much":
                return mark(LIMIT, task.exercise, "rank-crashed", plain_text(answer.get("why"), 300))
            if answer["did"] == "over limit":
                key = "timed-out" if session.exceeded == "time" else "rank-crashed"
                return mark(LIMIT, task.exercise, key, f"The check was stopped: the ranks used more "
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
        return Mark(outcome_of(verdict, outcomes), verdict)

    def _where_it_stopped(self, name: str, grade_cell: str) -> str:
        """A sentence on the error in the cell that should define `name`: its last definition, or the answer cell."""
        defines = re.compile(rf"^\s*(?:(?:async\s+)?def|class)\s+{re.escape(name)}\b|^\s*{re.escape(name)}\s*(?::.*)?=",
                             re.MULTILINE)
        place = next(index for index, one in self.grade_cells.items() if one == grade_cell)
        ran = [index for index in sorted(self.outputs, reverse=True) if index < place]
        definitions = [index for index in ran if defines.search(self.cells[index].source)]
        answers = [index for index in ran if self.cells[index].metadata.get("nbgrader", {}).get("solution")]
        for index in definitions[:1] or answers[:1]:
            for output in self.outputs[index]:
                if output.output_type == "error":
                    line = re.match(r"line \d+", output.traceback[0])
                    where = f" in {line[0]}" if line else ""
                    said = f"{output.ename}: {output.evalue}".partition("\n")[0].rstrip(" .:")
                    return f"The cell that should define {name} stopped{where}: {said}."
        return ""

    def _nonsense(self, task: Check, why: str) -> Mark:
        self.settings.log.warning("What the ranks of %s sent is no result: %s", task.exercise, why)
        return mark(ERROR, task.exercise, "rank-crashed", "The ranks did not send back a result, but something else: "
                     "does the function write to file descriptors that are not its own?")

    def _cleaned(self, outputs: object) -> list[NotebookNode]:
        """A cell's outputs as nbformat wants them: plain text and pictures, nothing that a page would run."""
        found = []
        for output in outputs[:1000] if isinstance(outputs, list) else ():
            cleaned = _cleaned_output(output, self.settings.limits.output) if isinstance(output, dict) else None
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
