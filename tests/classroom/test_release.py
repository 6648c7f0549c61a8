"""release/ is what nbgrader makes of source/, and holds no solution."""

import re
from pathlib import Path

import nbformat
import pytest

from autograder.classroom.release import assignments, generate
from autograder.classroom.verify import out_of_step

ROOT = Path(__file__).resolve().parents[2]


def test_every_assignment_is_released():
    released = {path.parent.name for path in ROOT.glob("release/*/*.ipynb")}
    assert released == set(assignments(ROOT)) != set()


@pytest.mark.parametrize("name", assignments(ROOT))
def test_release_is_in_step_with_its_source(name, tmp_path):
    generate(ROOT, name, tmp_path)
    assert not out_of_step(tmp_path / name, ROOT / "release" / name), "run `make release`"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))], ids=lambda page: page.name)
def test_the_documented_command_does_not_skip_what_a_clone_has_in_release(page):
    assert not re.findall(r"nbgrader generate_assignment(?!\s\S+\s--force).*", page.read_text(encoding="utf8"))


@pytest.mark.parametrize("name", assignments(ROOT))
def test_release_holds_no_solution_and_no_hidden_test(name):
    notebook = nbformat.read(ROOT / "release" / name / f"{name}.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells)
    for mark in ("BEGIN SOLUTION", "BEGIN HIDDEN TESTS", "BEGIN MARK SCHEME", "key="):
        assert mark not in text
    assert not any(cell.get("outputs") for cell in notebook.cells)
