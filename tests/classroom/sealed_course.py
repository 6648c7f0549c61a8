"""A small course for tests of sealed grading: two exercises on ranks and in one process, a question, an essay.

`grade` runs a real `nbgrader autograde` over all submissions and reads back, for every student and grade cell, the
outcome, the diagnosis and the points.
"""

import os
import sqlite3
import subprocess
import sys
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
KEYED = '''check_choice("item_mean_q1", item_mean_q1, key="B", reasons={"A": "Not so: HIDDEN-CANARY.", "B": "Quite."})'''
CONFIG = """from autograder.classroom import configure, sealed

c = get_config()
configure(c, root={root!r})
sealed.configure(c, secret_file={secret!r})
c.SealedExecute.cell_timeout = 8.0
{more}
"""


@dataclass(frozen=True)
class Graded:
    """How a grade cell ended: outcome (see autograder.classroom.sealed), diagnosis, points, whether a person must look."""

    outcome: str
    diagnosis: str | None
    message: str
    points: float | None
    manual: bool


def make(root: Path, more: str = "") -> nbformat.NotebookNode:
    """Write the course to `root` and release its assignment; returns the released notebook."""
    cells = [new_markdown_cell("# Sealed"), new_code_cell(SETUP)]
    for name, solution in RIGHT.items():
        stub = f"### BEGIN SOLUTION\n{solution}\n### END SOLUTION"
        call = f'check_choice("{name}", {name})' if name.endswith("q1") else f"check({name})"
        hidden = KEYED if name.endswith("q1") else f'check({name}, trials="all")  # HIDDEN-CANARY'
        checks = f"{call}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
        cells += [new_code_cell(stub, metadata=_role(f"{name}_answer", solution=True)),
                  new_code_cell(checks, metadata=_role(name, grade=True, locked=True))]
    cells.append(new_markdown_cell("Explain.", metadata=_role("essay", grade=True, solution=True)))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    source = root / "source" / NAME / f"{NAME}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), source)
    secret = str(root / ".course" / "secret")
    (root / "nbgrader_config.py").write_text(CONFIG.format(root=str(root), secret=secret, more=more))
    status, said = nbgrader(root, "generate_assignment", NAME)
    assert status == 0, said
    return nbformat.read(root / "release" / NAME / f"{NAME}.ipynb", as_version=4)


def submit(root: Path, released: nbformat.NotebookNode, student: str, answers: dict[str, str], edit=None) -> Path:
    """Put a submission where collect would: the released notebook with `answers`, then changed by `edit`."""
    notebook = deepcopy(released)
    for name, answer in answers.items():
        cell(notebook, f"{name}_answer").source = answer
    if edit:
        edit(notebook)
    file = root / "submitted" / student / NAME / f"{NAME}.ipynb"
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


def autograded(root: Path, student: str) -> nbformat.NotebookNode:
    return nbformat.read(root / "autograded" / student / NAME / f"{NAME}.ipynb", as_version=4)


def results(root: Path, student: str) -> dict[str, Graded]:
    """Each automatic grade cell of a graded submission: what the notebook says and what the gradebook holds."""
    book = sqlite3.connect(root / ".course" / "gradebook.db")
    rows = book.execute("""select base_cell.name, grade.auto_score, grade.needs_manual_grade from grade
        join base_cell on base_cell.id = grade.cell_id join submitted_notebook on submitted_notebook.id = grade.notebook_id
        join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
        where submitted_assignment.student_id = ?""", (student,)).fetchall()
    book.close()
    marks = {}
    for one in autograded(root, student).cells:
        for output in one.get("outputs", ()):
            mark = output.get("data", {}).get("application/vnd.autograder.mark+json")
            if mark:
                marks[one.metadata.nbgrader.grade_id] = mark
    return {name: Graded(marks[name]["outcome"], marks[name]["verdict"]["diagnosis"], marks[name]["verdict"]["message"],
                         score, bool(manual))
            for name, score, manual in rows if name in marks}


def _role(grade_id: str, *, grade=False, solution=False, locked=False) -> dict:
    role = {"grade": grade, "solution": solution, "locked": locked, "task": False, "grade_id": grade_id}
    return {"nbgrader": role | {"schema_version": 3} | ({"points": POINTS[grade_id]} if grade else {})}
