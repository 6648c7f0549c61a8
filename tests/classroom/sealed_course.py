"""A small course for tests of sealed grading: two exercises on ranks and in one process, a question, an essay.

`grade` runs a real `nbgrader autograde` over all submissions and reads back, for every student and grade cell, the
outcome, the diagnosis and the points.
"""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

NAME = "sealed"
POINTS = {"synchronized_item_mean": 15.0, "is_equivalent": 10.0, "item_mean_q1": 2.0, "essay": 4.0}
SETUP = """import torch
import torch.distributed as dist

from autograder import check, check_choice, warm_up

warm_up()"""
RIGHT = {
    "synchronized_item_mean": '''def synchronized_item_mean(local_gradients: torch.Tensor) -> torch.Tensor:
    total = local_gradients.detach().double().sum(dim=0)
    count = torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)''',
    "is_equivalent": '''def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    reference, update = reference.double().flatten(), update.double().flatten()
    if not (reference.isfinite().all() and update.isfinite().all()):
        return False
    largest = max([0.0, *reference.abs().tolist(), *update.abs().tolist()]) or 1.0
    error = torch.linalg.vector_norm(update / largest - reference / largest)
    return bool(error <= rtol * torch.linalg.vector_norm(reference / largest))''',
    "item_mean_q1": 'item_mean_q1 = "b"',
}
KEYED = '''check_choice("item_mean_q1", item_mean_q1, key="B",
             reasons={"A": "Not so: HIDDEN-CANARY.", "B": "Quite."})'''
CONFIG = """from autograder.classroom import configure
from autograder.classroom.sealed.config import configure as seal

c = get_config()
configure(c, root={root!r})
seal(c, secret_file={secret!r})
c.SealedExecute.cell_timeout = 8.0
{more}
"""


@dataclass(frozen=True)
class Graded:
    """How a grade cell ended: outcome, diagnosis, points, whether a person must look."""

    outcome: str
    diagnosis: str | None
    message: str
    points: float | None
    manual: bool


def make(root: Path, more: str = "") -> nbformat.NotebookNode:
    """Write the course to `root` and release its assignment; returns the released notebook."""
    cells = [new_markdown_cell("# Sealed"), new_code_cell(SETUP)]
    for name, solution in RIGHT.items():
        call = f'check_choice("{name}", {name})' if name.endswith("q1") else f"check({name})"
        hidden = KEYED if name.endswith("q1") else f'check({name}, trials="all")  # HIDDEN-CANARY'
        cells += exercise(name, POINTS[name], solution, call, hidden)
    cells.append(new_markdown_cell("Explain.", metadata=_role("essay", 4.0, grade=True, solution=True)))
    secret = str(root / ".course" / "secret")
    (root / "nbgrader_config.py").write_text(CONFIG.format(root=str(root), secret=secret, more=more))
    return release(root, NAME, cells)


def make_class(root: Path, answers: dict[str, dict[str, str | None]], more: str = "", edit=None) -> Path:
    """Write the course to the new folder `root`, with a submission of each student; returns `root`."""
    root.mkdir()
    released = make(root, more)
    for student, answered in answers.items():
        submit(root, released, student, answered, edit)
    return root


def copied(template: Path, root: Path) -> Path:
    """A course again in another folder, which its settings name."""
    shutil.copytree(template, root)
    config = root / "nbgrader_config.py"
    config.write_text(config.read_text().replace(str(template), str(root)))
    return root


def exercise(name: str, points: float, solution: str, call: str, hidden: str) -> list[nbformat.NotebookNode]:
    """An answer cell with its solution, and the grade cell of the same name."""
    return [new_code_cell(f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION",
                          metadata=_role(f"{name}_answer", solution=True)),
            new_code_cell(f"{call}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS",
                          metadata=_role(name, points, grade=True, locked=True))]


def release(root: Path, name: str, cells: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
    """Write and release an assignment of the course; returns the released notebook."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    source = root / "source" / name / f"{name}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), source)
    status, said = nbgrader(root, "generate_assignment", name)
    assert status == 0, said
    return nbformat.read(root / "release" / name / f"{name}.ipynb", as_version=4)


def submit(root: Path, released: nbformat.NotebookNode, student: str, answers: dict[str, str | None], edit=None,
           name: str = NAME) -> Path:
    """Put a submission where collect would: the released notebook with `answers`, then changed by `edit`."""
    notebook = deepcopy(released)
    for exercise_name, answer in answers.items():
        if answer is not None:
            cell(notebook, f"{exercise_name}_answer").source = answer
    if edit:
        edit(notebook)
    file = root / "submitted" / student / name / f"{name}.ipynb"
    file.parent.mkdir(parents=True)
    nbformat.write(notebook, file)
    return file


def cell(notebook: nbformat.NotebookNode, grade_id: str) -> nbformat.NotebookNode:
    return next(c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def nbgrader(root: Path, *command: str, **environment: str) -> tuple[int, str]:
    """Run an nbgrader command; (exit status, what it printed)."""
    run = subprocess.run([sys.executable, "-m", "nbgrader", *command], cwd=root, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    return run.returncode, run.stdout + run.stderr


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Fails when a process started within outlives it: orphans come to this process, which then finds them."""
    prctl = ctypes.CDLL(None).prctl
    before = _children()
    prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    try:
        yield
        deadline = time.monotonic() + 20.0
        while (left := _children() - before) and time.monotonic() < deadline:
            _reap(left)
            time.sleep(0.1)
        assert not left, f"left behind: {[_command(pid) for pid in left]}"
    finally:
        prctl(36, 0, 0, 0, 0)


def _children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def _reap(pids: set[int]) -> None:
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass


def _command(pid: int) -> str:
    try:
        return f"{pid} " + Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
    except OSError:
        return str(pid)


def autograded(root: Path, student: str, name: str = NAME) -> nbformat.NotebookNode:
    return nbformat.read(root / "autograded" / student / name / f"{name}.ipynb", as_version=4)


def results(root: Path, student: str, name: str = NAME) -> dict[str, Graded]:
    """Each automatic grade cell of a graded submission: what the notebook says and what the gradebook holds."""
    book = sqlite3.connect(root / ".course" / "gradebook.db")
    rows = book.execute("""select base_cell.name, grade.auto_score, grade.needs_manual_grade from grade
        join base_cell on base_cell.id = grade.cell_id
        join submitted_notebook on submitted_notebook.id = grade.notebook_id
        join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
        join assignment on assignment.id = submitted_assignment.assignment_id
        where submitted_assignment.student_id = ? and assignment.name = ?""", (student, name)).fetchall()
    book.close()
    marks = {}
    for one in autograded(root, student, name).cells:
        for output in one.get("outputs", ()):
            mark = output.get("data", {}).get("application/vnd.autograder.mark+json")
            if mark and one.metadata.get("nbgrader", {}).get("grade"):
                marks[one.metadata.nbgrader.grade_id] = mark
    return {key: Graded(marks[key]["outcome"], marks[key]["verdict"]["diagnosis"], marks[key]["verdict"]["message"],
                        score, bool(manual))
            for key, score, manual in rows if key in marks}


def _role(grade_id: str, points: float = 0.0, *, grade=False, solution=False, locked=False) -> dict:
    role = {"grade": grade, "solution": solution, "locked": locked, "task": False, "grade_id": grade_id}
    return {"nbgrader": role | {"schema_version": 3} | ({"points": points} if grade else {})}
