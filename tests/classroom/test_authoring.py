"""new-exercise writes an exercise that works and overwrites nothing; its page is true; a new release keeps marks."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from classroom import trial_course
from nbgrader.api import Gradebook

import autograder
from autograder.classroom import authoring, verify
from autograder.classroom.authoring import new_exercise
from autograder.classroom.course import Refused
from autograder.classroom.verify import RULES, bank_form, refused_release, submissions_and_cells

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "authoring.md").read_text(encoding="utf8")
BLOCK = re.compile(r"<!-- (file|cell): (\S+) -->\n```\w+\n(.*?)```\n", flags=re.S)


@pytest.fixture
def root(tmp_path) -> Path:
    """A scratch copy of the course: the package, one assignment, no bank."""
    shutil.copytree(ROOT / "autograder", tmp_path / "autograder", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "source" / "item_mean", tmp_path / "source" / "item_mean")
    shutil.copyfile(ROOT / "nbgrader_config.py", tmp_path / "nbgrader_config.py")
    return tmp_path


@pytest.fixture
def here(root, monkeypatch) -> Path:
    """The scratch copy, taken for the package in use."""
    monkeypatch.setattr(autograder, "__file__", str(root / "autograder" / "__init__.py"))
    return root


def command(root: Path, *words: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run([sys.executable, "-m", *words], cwd=root, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and ".course" not in path.parts}


# ---- the page ----------------------------------------------------------------------------------------------


@pytest.mark.timeout(900)
def test_the_worked_example_of_the_page_is_ready_to_be_handed_out(root):
    words = re.search(r"python -m (autograder new-exercise .*)", PAGE)[1].split()
    made = command(root, *words)
    assert made.returncode == 0, made.stderr
    notebook_file = root / "source" / "errors" / "errors.ipynb"
    notebook = nbformat.read(notebook_file, as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    blocks = BLOCK.findall(PAGE)
    assert len(blocks) == PAGE.count("<!-- ") >= 7
    for kind, place, text in blocks:
        if kind == "cell":
            cells[place].source = text.rstrip("\n")
        else:
            (root / place).write_text(text, encoding="utf8")
    nbformat.write(notebook, notebook_file)
    released = command(root, *re.search(r"(?m)^(nbgrader generate_assignment errors .*)$", PAGE)[1].split())
    assert released.returncode == 0, released.stderr
    verified = command(root, "autograder", "verify", "errors")
    assert (verified.returncode, verified.stdout) == (0, "errors is ready.\n"), verified.stdout + verified.stderr
    assert "the bank, 4 of 4" in verified.stderr


def test_a_new_assignment_is_written_without_the_seconds_that_nbgrader_takes(root):
    code = ("import sys; from autograder.__main__ import main; "
            "print(main(['new-exercise', 'week_nine', 'my_mean']), 'nbgrader' in sys.modules)")
    made = subprocess.run([sys.executable, "-c", code], cwd=root, env=os.environ | {"PYTHONPATH": str(root)},
                          capture_output=True, text=True)
    assert made.stdout.endswith("0 False\n"), made.stdout + made.stderr


# ---- what new-exercise writes ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("options", [[], ["--ranks"]])
def test_what_is_written_works_and_verify_says_what_is_left(root, options):
    assert command(root, "autograder", "new-exercise", "week_nine", "my_mean", *options).returncode == 0
    verified = command(root, "autograder", "verify", "week_nine")
    *findings, last = verified.stdout.splitlines()
    assert verified.returncode == 1 and last == f"week_nine: {len(findings)} findings"
    missing = [line for line in findings if "left to do" not in line]
    assert missing == ["release/week_nine: not in step with source/week_nine: run `nbgrader generate_assignment "
                       "week_nine --force`"]
    for place in ("source/week_nine/week_nine.ipynb", "autograder/exercises/week_nine.py",
                  "tests/banks/week_nine/my_mean/right_first.py"):
        assert any(line.startswith(place) for line in findings)


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("assignment", ["item_mean", "week_nine"])
def test_new_section_obeys_the_rules_of_notebooks_and_banks(here, assignment, ranks):
    before = contents(here)
    new_exercise(here, assignment, "my_mean", ranks=ranks, points=7)
    notebook = nbformat.read(here / "source" / assignment / f"{assignment}.ipynb", as_version=4)
    assert [line for rule in RULES for line in rule(notebook)] == []
    assert [cell.metadata.nbgrader.points for cell in notebook.cells if cell.id == "my-mean-check"] == [7]
    files = sorted((here / "tests" / "banks" / assignment / "my_mean").glob("*.py"))
    assert [file.name.split("_")[0] for file in files] == ["right", "wrong"]
    assert [line for file in files for line in bank_form(file)] == []
    module = here / "autograder" / "exercises" / f"{assignment}.py"
    for line in before.get(module, b"").splitlines():
        assert line in module.read_bytes().splitlines() or line.startswith(b"from autograder")
    code = f"from autograder.exercises import find; e = find('my_mean'); print(e.assignment, e.ranks, {assignment!r})"
    told = command(here, "timeit", "-n", "1", "-r", "1", code).stdout
    assert told.startswith(f"{assignment} {ranks} {assignment}\n")


def test_what_is_written_is_what_ruff_wants(here):
    for assignment in ("item_mean", "week_nine"):
        new_exercise(here, assignment, f"plain_{assignment}", ranks=False, points=1)
    for name in ("item_mean", "week_nine", "__init__"):
        file = here / "autograder" / "exercises" / f"{name}.py"
        assert max(map(len, file.read_text(encoding="utf8").splitlines())) <= 120
        ruff = subprocess.run([sys.executable, "-m", "ruff", "check", "--config", ROOT / "pyproject.toml", file],
                              capture_output=True, text=True)
        assert ruff.returncode == 0, ruff.stdout + ruff.stderr


def test_the_exercise_is_put_below_the_others_and_above_the_questions(here):
    new_exercise(here, "item_mean", "my_mean", ranks=False, points=5)
    ids = [cell.id for cell in nbformat.read(here / "source/item_mean/item_mean.ipynb", as_version=4).cells]
    place = ids.index("my-mean-text")
    assert ids[place - 1] == "synchronized-but-wrong-check" and ids[place + 3] == "item-mean-quiz-text"


@pytest.mark.parametrize("assignment, name, words", [
    ("item_mean", "sgd_step", "already, in item_mean"),
    ("week_nine", "ddp_step", "already, in uneven_ranks"),
    ("week_nine", "My-Mean", "no name for an exercise"),
    ("week_nine", "lambda", "no name for an exercise"),
    ("../elsewhere", "my_mean", "no name for an assignment"),
    ("rules", "my_mean", "autograder/exercises/rules.py exists"),
    ("week_nine", "week_nine_q1", "taken by other cells"),
    ("sum_or_mean", "my_mean", "there is no source/sum_or_mean"),
])
def test_refusal_says_why_and_writes_nothing(here, assignment, name, words):
    before = contents(here)
    with pytest.raises(Refused, match=re.escape(words)):
        new_exercise(here, assignment, name, ranks=True, points=5)
    assert contents(here) == before


def test_an_author_s_files_are_not_overwritten(here):
    bank = here / "tests" / "banks" / "item_mean" / "my_mean"
    bank.mkdir(parents=True)
    (bank / "right_first.py").write_text("mine")
    before = contents(here)
    with pytest.raises(Refused, match="nothing is overwritten"):
        new_exercise(here, "item_mean", "my_mean", ranks=True, points=5)
    assert contents(here) == before


def test_no_exercise_is_added_once_learners_have_handed_in(here, monkeypatch):
    monkeypatch.setattr(verify, "submissions_and_cells", lambda root, assignment: (3, set()))
    before = contents(here)
    with pytest.raises(Refused, match="item_mean has 3 submissions.*nbgrader takes no release with new cells"):
        new_exercise(here, "item_mean", "my_mean", ranks=True, points=5)
    assert contents(here) == before


def test_the_records_of_the_templates_are_python():
    for words in (authoring.ON_RANKS, authoring.ALONE):
        ast.parse(authoring._filled(words["record"], {"name": "my_mean"}))


# ---- a release in the middle of a term ---------------------------------------------------------------------


@pytest.mark.timeout(900)
def test_a_new_release_keeps_marks_and_refuses_new_cells(tmp_path):
    released = trial_course.make(tmp_path)
    trial_course.submit(tmp_path, released, "ada", {**trial_course.RIGHT, "triple": "def triple(x):\n    return x"})
    trial_course.nbgrader(tmp_path, "autograde", trial_course.NAME)
    with book(tmp_path) as gradebook:
        grade = gradebook.find_grade("essay", trial_course.NAME, trial_course.NAME, "ada")
        grade.manual_score, grade.needs_manual_grade = 3.0, False
        gradebook.db.commit()
    given = marks(tmp_path)
    assert given == {"double": (2.0, None), "triple": (0.0, None), "essay": (0.0, 3.0)}

    file = tmp_path / "source" / trial_course.NAME / f"{trial_course.NAME}.ipynb"
    source = nbformat.read(file, as_version=4)
    source.cells[0].source = "# Trial, with a mistake in the text put right"
    nbformat.write(source, file)
    assert list(refused_release(tmp_path, trial_course.NAME, source)) == []
    trial_course.nbgrader(tmp_path, "generate_assignment", trial_course.NAME, "--force")
    assert "put right" in (tmp_path / "release" / trial_course.NAME / file.name).read_text()
    assert marks(tmp_path) == given
    trial_course.nbgrader(tmp_path, "autograde", trial_course.NAME, "--force")
    assert marks(tmp_path) == given

    role = trial_course._role("triple", grade=True, locked=True)
    role["nbgrader"]["grade_id"] = "fourfold"
    source.cells.append(nbformat.v4.new_code_cell("assert True", metadata=role))
    nbformat.write(source, file)
    (said,) = refused_release(tmp_path, trial_course.NAME, source)
    assert "submissions in the gradebook: 1" in said and "new: fourfold" in said and "another assignment" in said
    with pytest.raises(AssertionError, match="Cannot add or remove cells"):  # nbgrader says so too
        trial_course.nbgrader(tmp_path, "generate_assignment", trial_course.NAME, "--force")
    assert marks(tmp_path) == given
    assert submissions_and_cells(tmp_path, "another") == (0, set())


def book(root: Path) -> Gradebook:
    return Gradebook(f"sqlite:///{root / '.course' / 'gradebook.db'}")


def marks(root: Path) -> dict[str, tuple]:
    """(automatic, by hand) of each grade cell of ada."""
    with book(root) as gradebook:
        notebook = gradebook.find_submission_notebook(trial_course.NAME, trial_course.NAME, "ada")
        return {grade.name: (grade.auto_score or 0.0, grade.manual_score) for grade in notebook.grades}
