"""A small course for tests of the nbgrader side: two exercises with plain asserts, one written answer.

It needs no engine, so a failure here is a failure of the configuration.
"""

import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

NAME = "trial"
SECRET_LINE = "assert double(21) == 42, 'a hidden reason'"
POINTS = {"double": 2.0, "triple": 3.0, "essay": 4.0}
RIGHT = {"double": "def double(x):\n    return 2 * x", "triple": "def triple(x):\n    return 3 * x"}
CONFIG = """from autograder.classroom import configure

c = get_config()
configure(c, root={root!r}, sealed=False)
c.Execute.timeout_func = None
c.Execute.timeout = 5
c.ExecuteToTheEnd.alive_timeout = 2
"""


def make(root: Path) -> nbformat.NotebookNode:
    """Write the course to `root` and release its assignment; returns the released notebook."""
    cells = [
        new_markdown_cell("# Trial"),
        new_code_cell("import os, sys"),
        *_exercise("double", "assert double(1) == 2", SECRET_LINE),
        *_exercise("triple", "assert triple(1) == 3", "assert triple(5) == 15"),
        new_markdown_cell("Explain.", metadata=_role("essay", grade=True, solution=True)),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    source = root / "source" / NAME / f"{NAME}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), source)
    (root / "nbgrader_config.py").write_text(CONFIG.format(root=str(root)))
    nbgrader(root, "generate_assignment", NAME)
    return nbformat.read(root / "release" / NAME / f"{NAME}.ipynb", as_version=4)


def submit(root: Path, released: nbformat.NotebookNode, student: str, answers: dict, edit=None) -> None:
    """Put a submission where collect would: the released notebook with `answers`, then changed by `edit`."""
    notebook = deepcopy(released)
    for name, answer in answers.items():
        cell(notebook, f"{name}_answer").source = answer
    if edit:
        edit(notebook)
    file = root / "submitted" / student / NAME / f"{NAME}.ipynb"
    file.parent.mkdir(parents=True)
    nbformat.write(notebook, file)


def cell(notebook: nbformat.NotebookNode, grade_id: str) -> nbformat.NotebookNode:
    (found,) = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id]
    return found


def nbgrader(root: Path, *command: str) -> str:
    """Run an nbgrader command that must succeed; returns what it printed."""
    whole = [sys.executable, "-m", "nbgrader", *command]
    run = subprocess.run(whole, cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout + run.stderr


def _exercise(name: str, check: str, hidden: str) -> list[nbformat.NotebookNode]:
    solution = RIGHT[name].split("\n")[1]
    stub = f"def {name}(x):\n    ### BEGIN SOLUTION\n{solution}\n    ### END SOLUTION"
    checks = f"{check}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
    return [
        new_code_cell(stub, metadata=_role(f"{name}_answer", solution=True)),
        new_code_cell(checks, metadata=_role(name, grade=True, locked=True)),
    ]


def _role(grade_id: str, *, grade=False, solution=False, locked=False) -> dict:
    role = {"grade": grade, "solution": solution, "locked": locked, "task": False, "grade_id": grade_id}
    return {"nbgrader": role | {"schema_version": 3} | ({"points": POINTS[grade_id]} if grade else {})}
