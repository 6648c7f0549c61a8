"""The hostile bank through a real `nbgrader autograde`: each file has the outcome that it names, and no more happens.

`tests/hostile/functions/*.py` define `synchronized_item_mean`; all that are wrong are cells of one submission, each
with a check of its own, all that are right of another. `tests/hostile/notebooks/*.py` are submissions of their own:
`ANSWERS` in place of the right ones (None: untouched), `edit(notebook, cell, new_code_cell)`, `FILES` to hand in beside
it. The first line of a docstring is the outcome, `a | b` where several are fair.
"""

import ast
import hashlib
import importlib.util
import json
import sys
from functools import partial
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

sys.path.insert(0, str(Path(__file__).parent))
import sealed_course  # noqa: E402
from sealed_course import NAME, POINTS, RIGHT, autograded, cell, nbgrader, results, submit  # noqa: E402

import autograder  # noqa: E402
from autograder.classroom.sealed import sandbox  # noqa: E402

BANK = Path(__file__).parents[1] / "hostile"
FUNCTIONS = sorted((BANK / "functions").glob("*.py"))
NOTEBOOKS = sorted((BANK / "notebooks").glob("*.py"))
CANARIES = ("HIDDEN-CANARY", "ENVIRONMENT-CANARY", "KEY-CANARY", "NEIGHBOUR-CANARY", "FOUND", "WROTE", "OPENED")
SCRIPT = "<script>alert('canary-script')"


def sandbox_reason() -> str | None:
    try:
        sandbox.require()
    except sandbox.NoSandbox as error:
        return str(error)
    return None


pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800),
              pytest.mark.skipif(sandbox_reason() is not None, reason=str(sandbox_reason()))]


def expected(file: Path) -> str:
    mark, _, rest = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0].partition(": ")
    assert mark == "outcome", f"{file.name} does not say its outcome"
    return rest


def expected_in_notebook(file: Path) -> dict[str, list[str]]:
    parts = (part.partition("=") for part in expected(file).split(", "))
    return {name: outcomes.split(" | ") for name, _, outcomes in parts}


def loaded(file: Path):
    spec = importlib.util.spec_from_file_location(f"hostile_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def contents(*folders: Path) -> dict[str, str]:
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for folder in folders
            for file in sorted(folder.rglob("*")) if file.is_file() and "__pycache__" not in file.parts}


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> tuple[Path, str]:
    """The whole bank graded: the root of the course, and what nbgrader said."""
    root = tmp_path_factory.mktemp("hostile")
    released = sealed_course.make(root, "c.SealedExecute.total_memory = 3 * 2**30\n"
                                        "c.SealedExecute.cell_timeout = 20.0\n"  # time to take too much memory
                                        "c.SealedExecute.check_timeout = 60.0\n"
                                        "c.SealedExecute.submission_timeout = 1200.0")
    for right, student in ((True, "accepted"), (False, "rejected")):
        files = [file for file in FUNCTIONS if (expected(file) == "right") == right]
        cells = [new_code_cell(sealed_course.SETUP)]
        for file in files:
            cells += sealed_course.exercise(file.stem, 3.0, "pass", "check(synchronized_item_mean)",
                                            'check(synchronized_item_mean, trials="all")  # HIDDEN-CANARY')
        notebook = sealed_course.release(root, student, cells)
        submit(root, notebook, student, {file.stem: file.read_text() for file in files}, name=student)
    for file in NOTEBOOKS:
        module = loaded(file)
        edit = getattr(module, "edit", None)
        submission = submit(root, released, file.stem, RIGHT | getattr(module, "ANSWERS", {}),
                            edit and partial(edit, cell=cell, new_code_cell=new_code_cell))
        for name, content in getattr(module, "FILES", {}).items():
            (submission.parent / name).write_text(content)
    submit(root, released, "z_neighbour", RIGHT, lambda notebook: notebook.cells.append(
        new_markdown_cell("NEIGHBOUR-CANARY")))
    key = root / "home" / ".ssh" / "id_rsa"
    key.parent.mkdir(parents=True)
    key.write_text("KEY-CANARY")
    watched = [root / "source", root / "release", root / "submitted", root / "home"]
    before = contents(*watched)
    said = ""
    with sealed_course.nothing_left_behind():
        for name in ("accepted", "rejected", NAME):
            status, words = nbgrader(root, "autograde", name, HOME=str(root / "home"), A_CANARY="ENVIRONMENT-CANARY")
            said += words
            assert status == 0, words[-6000:]
    assert contents(*watched) == before, "files of the host have changed"
    return root, said


@pytest.mark.parametrize("file", FUNCTIONS, ids=lambda file: file.stem)
def test_function_has_its_outcome(graded, file):
    student = "accepted" if expected(file) == "right" else "rejected"
    found = results(graded[0], student, student)[file.stem]
    assert found.outcome in expected(file).split(" | "), found
    assert found.points == (3.0 if found.outcome == "right" else 0.0) and not found.manual


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebook_has_its_outcomes(graded, file):
    found = results(graded[0], file.stem)
    for name, outcomes in expected_in_notebook(file).items():
        assert found[name].outcome in outcomes, found
        assert found[name].points == (POINTS[name] if found[name].outcome == "right" else 0.0)
        assert not found[name].manual


def test_the_class_is_graded_to_its_end(graded):
    found = results(graded[0], "z_neighbour")
    assert [found[name].points for name in RIGHT] == [POINTS[name] for name in RIGHT]


def test_no_secret_is_in_any_output(graded):
    root, _ = graded
    secret = (root / ".course" / "secret").read_text()
    for student, name in [("accepted", "accepted"), ("rejected", "rejected"), *((f.stem, NAME) for f in NOTEBOOKS)]:
        shown = json.dumps([one.get("outputs") for one in autograded(root, student, name).cells])
        for canary in (*CANARIES, secret):
            at = shown.find(canary)
            assert at < 0, f"{student}: {shown[max(at - 300, 0):at + 300]}"
        assert "\\u001b" not in shown and len(shown) < 20 * 2**20


def test_nothing_of_a_submission_ran_outside(graded):
    for name in ("pickle-was-loaded", "hostile-module-ran", "hostile-was-here"):
        places = (Path("/tmp"), Path("/"), Path("/etc"), Path("/usr/bin"), Path("/usr/lib"), graded[0],
                  Path(autograder.__file__).parent, Path(autograder.__file__).parents[1])
        assert not any((folder / name).exists() for folder in places)


def test_feedback_holds_no_markup_of_learners_and_no_hidden_test(graded):
    root, _ = graded
    for name in ("rejected", NAME):
        status, said = nbgrader(root, "generate_feedback", name)
        assert status == 0, said
    for page in (root / "feedback").rglob("*.html"):
        text = page.read_text()
        assert SCRIPT not in text and "<img src=x" not in text, page
        assert "HIDDEN-CANARY" not in text, page


def test_the_bank_holds_attacks_and_right_answers():
    assert len(FUNCTIONS) >= 60 and sum(expected(file) == "right" for file in FUNCTIONS) >= 20
    assert len(NOTEBOOKS) >= 15
