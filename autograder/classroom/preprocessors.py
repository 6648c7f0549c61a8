"""Steps that our nbgrader configuration adds to autograding and feedback.

Autograding: `RepairCells` before nbgrader restores its cells, `ExecuteToTheEnd` in place of `Execute`, and
`CleanOutputs` before the marks are read. Feedback: `HideTests`. Each keeps one submission from stopping the
class, from getting marks it did not earn, or from losing marks it did.
"""

import json
import math
import os
import re
from collections.abc import Iterable
from html import unescape
from time import monotonic

from nbclient.exceptions import DeadKernelError
from nbclient.util import ensure_async, run_sync
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool, Integer, Unicode

from .config import course_seed

SCHEMA_VERSION = 3
BEGIN, END = "BEGIN HIDDEN TESTS", "END HIDDEN TESTS"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
HIDDEN = "[hidden test]"


class RepairCells(NbGraderPreprocessor):
    """Put the nbgrader metadata of a submission right, as the gradebook knows it.

    A copied cell keeps its last copy's role, flipped flags and points go back, cells that nbgrader never made
    lose their claim, and a deleted check returns behind its answer. Without this, a copied check ends the run
    for everybody after it, and a flipped flag leaves the submission without a mark.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        nb, names = self._that_can_be_written(nb), resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
            known = {cell.name: _metadata(cell, notebook) for cell in notebook.source_cells}
            sources = {cell.name: cell.source for cell in notebook.source_cells}
        present = self._keep_last_copies(nb, known)
        for cell in nb.cells:
            if known.get(_grade_id(cell), {}).get("locked"):
                self._restore(cell, sources[_grade_id(cell)])
        for name, metadata in known.items():
            if metadata["grade"] and name not in present:
                self._put_back(nb, metadata, sources[name])
        return nb, resources

    def _that_can_be_written(self, nb: NotebookNode) -> NotebookNode:
        """The notebook with ? for half characters: JSON can name them, and no file can hold them."""
        text = json.dumps(nb, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.log.warning("Half characters in the submission are replaced by ?")
            return from_dict(json.loads(text.encode("utf-8", "replace")))
        return nb

    def _keep_last_copies(self, nb: NotebookNode, known: dict[str, dict]) -> set[str]:
        seen: set[str] = set()
        for number in range(len(nb.cells) - 1, -1, -1):
            cell = nb.cells[number]
            claim = cell.metadata.pop("nbgrader", None)
            name = claim.get("grade_id") if isinstance(claim, dict) else None
            if not isinstance(name, str):
                continue
            if name not in known:
                self.log.warning("Cell %d calls itself '%s', which nobody assigned", number, name)
            elif name in seen:
                self.log.warning("Cell %d is a copy of '%s': only the last copy counts", number, name)
            else:
                seen.add(name)
                cell.metadata["nbgrader"] = NotebookNode(known[name])
        return seen

    def _restore(self, cell: NotebookNode, source: str) -> None:
        """A locked cell as it was assigned; only a change by the learner is worth a warning."""
        if cell.source.strip() not in (source.strip(), without_hidden(source)[0].strip()):
            self.log.warning("'%s' was changed by the learner and is restored", _grade_id(cell))
        cell.source = source

    def _put_back(self, nb: NotebookNode, metadata: dict, source: str) -> None:
        """Behind its answer cell, or at the end, where everything it may need is defined."""
        name = metadata["grade_id"]
        self.log.warning("'%s' was deleted from the submission and is put back", name)
        new = new_code_cell if metadata["cell_type"] == "code" else new_markdown_cell
        answers = [i for i, cell in enumerate(nb.cells) if _grade_id(cell) == f"{name}_answer"]
        place = answers[0] + 1 if answers else len(nb.cells)
        nb.cells.insert(place, new(source, metadata={"nbgrader": metadata}))


class ExecuteToTheEnd(Execute):
    """nbgrader's Execute, for which a dead or stuck kernel costs the rest of the cells, not the submission.

    What ran before keeps its mark; cells that could not run say why. The kernel, and no other, gets the
    course's seed in `AUTOGRADER_COURSE_SEED`.
    """

    secret_file = Unicode("", help="Where the course's secret is kept; made at first use.").tag(config=True)
    submission_timeout = Integer(900, help="Seconds for all cells of a submission.").tag(config=True)
    alive_timeout = Integer(10, help="Seconds for a sign of life after a cell was stopped.").tag(config=True)

    async def async_start_new_kernel(self, **kwargs) -> None:
        if self.secret_file:
            course_id = self.config.CourseDirectory.get("course_id", "")
            env = kwargs.pop("env", None) or dict(os.environ)
            kwargs["env"] = env | {"AUTOGRADER_COURSE_SEED": course_seed(self.secret_file, course_id)}
        await super().async_start_new_kernel(**kwargs)

    start_new_kernel = run_sync(async_start_new_kernel)

    def preprocess(self, nb: NotebookNode, resources: dict, km=None) -> tuple[NotebookNode, dict]:
        self._stopped = ""
        self._deadline = monotonic() + self.submission_timeout
        return super().preprocess(nb, resources, km)

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type != "code" or not cell.source.strip():
            return cell, resources
        if not self._stopped and monotonic() > self._deadline:
            self._stopped = f"the submission used up its {self.submission_timeout} seconds"
        if self._stopped:
            cell.outputs = [_error("NotRun", f"This cell was not run: {self._stopped}.")]
            return cell, resources
        try:
            cell, resources = super().preprocess_cell(cell, resources, index)
        except DeadKernelError:
            self._stopped = f"the kernel died in cell {index + 1}"
            cell.outputs.append(_error("KernelDied", "The kernel died while it ran this cell."))
        else:
            timed_out = any(output.get("ename") == "CellTimeoutError" for output in cell.outputs)
            if timed_out and not self._answers():
                self._stopped = f"the kernel was stuck after cell {index + 1} ran out of time"
        if self._stopped:
            self.log.error("Cells after number %d are not run: %s", index + 1, self._stopped)
        return cell, resources

    async def _async_answers(self) -> bool:
        """Whether the kernel still reacts; what older requests left in the channel is skipped."""
        request = await ensure_async(self.kc.kernel_info())
        deadline = monotonic() + self.alive_timeout
        while monotonic() < deadline:
            try:
                message = await ensure_async(self.kc.shell_channel.get_msg(timeout=1))
            except Exception:  # queue.Empty, of whichever client
                continue
            if message["parent_header"].get("msg_id") == request:
                return True
        return False

    _answers = run_sync(_async_answers)


class CleanOutputs(NbGraderPreprocessor):
    """Make the outputs of checks mean what they say, and cap all outputs by size.

    In a check's cell, text on stderr is no verdict (nbgrader would give 0) and is kept as ordinary text; a
    result beyond the cell's points, which would make the submission fail, is cut to them; one that is no
    finite number of points, for which nbgrader gives all points, earns none.
    """

    max_text = Integer(100_000, help="Characters of text kept per cell.").tag(config=True)
    max_data = Integer(2_000_000, help="Characters kept of one rich output, say a picture.").tag(config=True)

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type != "code":
            return cell, resources
        if is_grade(cell) and not is_solution(cell):
            points = float(cell.metadata.nbgrader["points"])
            for output in cell.outputs:
                if output.output_type == "stream":
                    output.name = "stdout"
                elif output.output_type == "execute_result":
                    output.data = NotebookNode({"text/plain": _clamped(output.data, points)})
        cell.outputs = list(self._capped(cell.outputs))
        return cell, resources

    def _capped(self, outputs: list[NotebookNode]) -> Iterable[NotebookNode]:
        left = self.max_text
        for output in outputs:
            if output.output_type == "stream":
                output.text, left = _cut(output.text, left)
            elif output.output_type == "error":
                output.evalue, left = _cut(output.evalue, left)
                kept = []
                for line in output.traceback:
                    line, left = _cut(line, left)
                    kept.append(line)
                output.traceback = kept
            else:
                for kind, value in output.data.items():
                    if len(str(value)) > self.max_data:
                        output.data[kind] = f"[{kind} of {len(str(value))} characters left out]"
                if not any(output.data.values()):
                    continue
            yield output


class HideTests(Preprocessor):
    """Take hidden tests out of the feedback: their source, and any line of them in an output."""

    enabled = Bool(True, help="Whether to hide them.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        hidden: set[str] = set()
        for cell in nb.cells:
            cell.source, lines = without_hidden(cell.source)
            hidden |= lines
        if hidden:
            for cell in nb.cells:
                for output in cell.get("outputs", ()):
                    _redact(output, hidden)
        return nb, resources


def without_hidden(source: str) -> tuple[str, set[str]]:
    """The source without its hidden blocks, and the lines of those blocks that say anything."""
    kept, hidden, inside = [], set(), False
    for line in source.split("\n"):
        inside = inside or BEGIN in line
        if inside:
            hidden.add(line.strip())
        else:
            kept.append(line)
        inside = inside and END not in line
    return "\n".join(kept).rstrip("\n"), {line for line in hidden if len(line) > 3}


def _redact(output: NotebookNode, hidden: set[str]) -> None:
    def tells(line: str) -> bool:
        plain = unescape(ANSI.sub("", line))
        return any(secret in plain for secret in hidden)

    def clean(text: str) -> str:
        return "\n".join(HIDDEN if tells(line) else line for line in text.split("\n"))

    if output.output_type == "stream":
        output.text = clean(output.text)
    elif output.output_type == "error":
        output.evalue = clean(output.evalue)
        output.traceback = [clean(line) for line in output.traceback]
    else:
        for kind, value in output.data.items():
            if isinstance(value, str):
                output.data[kind] = clean(value)


def _metadata(cell, notebook) -> dict:
    """What generate_assignment wrote into this cell, from the gradebook's tables."""
    graded = {c.name: c for c in [*notebook.grade_cells, *notebook.task_cells]}
    task = cell.name in {c.name for c in notebook.task_cells}
    grade = cell.name in graded and not task
    return {
        "grade": grade,
        "grade_id": cell.name,
        "locked": bool(cell.locked),
        "solution": cell.name in {c.name for c in notebook.solution_cells},
        "task": task,
        "schema_version": SCHEMA_VERSION,
        "cell_type": cell.cell_type,
        "checksum": cell.checksum,
    } | ({"points": graded[cell.name].max_score} if grade or task else {})


def _grade_id(cell: NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _error(name: str, message: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=message, traceback=[f"{name}: {message}"])


def _clamped(data: dict, points: float) -> str:
    try:
        value = float(data.get("text/plain", ""))
    except ValueError:
        return "0.0"
    return str(min(max(value, 0.0), points)) if math.isfinite(value) else "0.0"


def _cut(text: str, left: int) -> tuple[str, int]:
    if len(text) <= left:
        return text, left - len(text)
    return text[:left] + ("\n... output cut ..." if left else ""), 0
