"""The course's secret: made once, readable by its owner alone, seen by graded kernels and no others."""

import hashlib
import hmac
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from classroom import sealed_course, trial_course
from nbformat.v4 import new_code_cell
from traitlets.config import Config

from autograder.__main__ import main
from autograder.classroom.config import course_secret, course_seed
from autograder.classroom.refused import Refused

SHOW = "import os; print('seed:', os.environ.get('AUTOGRADER_COURSE_SEED'))"


def test_secret_is_made_once_and_private(tmp_path):
    file = tmp_path / "state" / "secret"
    first = course_secret(file)
    assert len(first) == 32 and course_secret(file) == first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == ["secret"]


@pytest.mark.parametrize("content", ["", "no secret", "ab" * 31])
def test_a_damaged_secret_is_no_secret(tmp_path, content):
    """An empty one, as after a power cut, would have everybody draw the trials."""
    (tmp_path / "secret").write_text(content)
    with pytest.raises(Refused, match="is damaged. Put your copy of it in its place"):
        course_secret(tmp_path / "secret")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("closed", ["secret", "."])
def test_a_secret_that_may_not_be_read_is_told(tmp_path, closed):
    course_secret(tmp_path / "state" / "secret")
    if closed == ".":
        (tmp_path / "state" / "secret").unlink()
    (tmp_path / "state" / closed).chmod(0o100)
    with pytest.raises(Refused, match="cannot be read or made: Permission denied"):
        course_secret(tmp_path / "state" / "secret")
    (tmp_path / "state" / closed).chmod(0o700)


@pytest.mark.parametrize("how", ["nbgrader", "grade", "bundle"])
def test_commands_say_in_one_sentence_that_the_secret_is_damaged(tmp_path, monkeypatch, capsys, how):
    sealed_course.submit(tmp_path, sealed_course.make(tmp_path), "ada", sealed_course.RIGHT)
    (tmp_path / ".course" / "secret").write_text("")
    monkeypatch.chdir(tmp_path)
    if how == "nbgrader":
        status, said = sealed_course.nbgrader(tmp_path, "autograde", sealed_course.NAME)
    else:
        status, said = main([how, sealed_course.NAME]), capsys.readouterr().err
        assert len(said.splitlines()) == 1
    assert status == 1 and "secret is damaged. Put your copy" in said


def test_two_that_start_at_once_share_one_secret(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(course_secret, [tmp_path / "secret"] * 16))) == 1


def test_seed_is_derived_and_differs_between_courses_and_secrets(tmp_path):
    secret = course_secret(tmp_path / "one")
    assert course_seed(tmp_path / "one", "c1") == hmac.new(secret, b"c1", hashlib.sha256).hexdigest()
    assert len({course_seed(tmp_path / f, c) for f in ("one", "two") for c in ("c1", "c2")}) == 4


def test_graded_kernels_get_the_seed_and_no_others(tmp_path):
    def show(notebook):
        notebook.cells.insert(0, new_code_cell(SHOW))

    released = trial_course.make(tmp_path)
    trial_course.submit(tmp_path, released, "ada", trial_course.RIGHT, show)
    trial_course.nbgrader(tmp_path, "autograde", trial_course.NAME)
    graded = tmp_path / "autograded" / "ada" / trial_course.NAME / "trial.ipynb"
    printed = nbformat.read(graded, as_version=4).cells[0].outputs[0].text
    assert printed == f"seed: {course_seed(tmp_path / '.course' / 'secret', 'global-gradient')}\n"

    assert "AUTOGRADER_COURSE_SEED" not in os.environ
    notebook = nbformat.read(graded, as_version=4)
    answer = trial_course.cell(notebook, "triple_answer")
    answer.source = f"assert 'AUTOGRADER_COURSE_SEED' not in os.environ\n{answer.source}"
    nbformat.write(notebook, tmp_path / "work" / "open.ipynb")
    said = trial_course.nbgrader(tmp_path, "validate", "work/open.ipynb")
    assert "FAILED ON 1 CELL" in said and "triple" not in said  # the one is the essay, which nobody wrote


def test_configuring_makes_no_secret_and_changes_no_environment(tmp_path):
    from autograder.classroom import configure

    configure(Config(), tmp_path)
    assert not (tmp_path / ".course" / "secret").exists()
