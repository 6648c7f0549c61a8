"""What a new release in the middle of a term keeps and what it changes, through nbgrader's own commands."""

import sys
from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

sys.path.insert(0, str(Path(__file__).parent))
import sealed_course  # noqa: E402
from fake_workers import mark_by_rule  # noqa: E402
from sealed_course import NAME, cell, copied, make_class, nbgrader  # noqa: E402
from test_grade import ANSWERS, LATE, POINTS, for_real, points, rows, tasks, with_marks  # noqa: E402

from autograder.__main__ import main  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """The class of test_grade, with a locked cell that is no check."""
    return make_class(tmp_path_factory.mktemp("term") / "course", ANSWERS, LATE)


@pytest.fixture
def root(template, tmp_path, monkeypatch) -> Path:
    root = copied(template, tmp_path / "course")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def by_rule(root, monkeypatch) -> None:
    mark_by_rule(monkeypatch, root.parent / "tasks")


def graded(*more: str) -> int:
    return main(["grade", NAME, *more])


def release(root: Path, change) -> tuple[int, str]:
    """Change the source, and make the released version again."""
    file = root / "source" / NAME / f"{NAME}.ipynb"
    notebook = nbformat.read(file, as_version=4)
    change(notebook)
    nbformat.write(notebook, file)
    return nbgrader(root, "generate_assignment", NAME, "--force")


def gradebook(root: Path) -> Gradebook:
    return Gradebook(f"sqlite:///{root / '.course' / 'gradebook.db'}")


def by_hand(root: Path) -> None:
    """A due date that ada and cleo missed, an extension for ada, a mark by hand for ben's check and dora's essay."""
    with gradebook(root) as book:
        book.update_or_create_assignment(NAME, duedate=datetime(2026, 3, 1))
        for student in ("ada", "cleo"):
            (root / "submitted" / student / NAME / "timestamp.txt").write_text("2026-03-01 01:00:00 UTC")
    assert graded() == 0
    with gradebook(root) as book:
        book.grant_extension(NAME, "ada", hours=2)
        book.find_grade("is_equivalent", NAME, NAME, "ben").manual_score = 1.5
        essay = book.find_grade("essay", NAME, NAME, "dora")
        essay.manual_score, essay.needs_manual_grade = 3.0, False
        book.find_comment("essay", NAME, NAME, "dora").manual_comment = "Well put."
        book.db.commit()


def test_points_that_changed_count_once_the_class_is_graded_again_and_nothing_runs(root, by_rule):
    assert graded() == 0
    tasks(root)

    def double(notebook) -> None:
        cell(notebook, "is_equivalent").metadata.nbgrader["points"] = 20.0

    status, said = release(root, double)
    assert status == 0, said
    assert points(root) == POINTS  # marks that were given keep theirs
    assert graded() == 0 and tasks(root) == []
    assert points(root) == {**POINTS, "ada": 37.0, "cleo": 22.0}
    before = rows(root)
    assert graded() == 0 and rows(root) == before


def test_a_changed_check_is_graded_anew_and_words_are_not(root, by_rule):
    assert graded() == 0
    tasks(root)

    def words(notebook) -> None:
        notebook.cells[0].source = "# Sealed, second edition"
        cell(notebook, "is_equivalent_answer").source = "# another hint\n" + cell(
            notebook, "is_equivalent_answer").source

    def check(notebook) -> None:
        cell(notebook, "item_mean_q1").source = cell(notebook, "item_mean_q1").source.replace("Quite.", "Quite so.")

    for change, expected in ((words, []), (check, [f"{student} all" for student in ANSWERS])):
        status, said = release(root, change)
        assert status == 0, said
        assert points(root) == POINTS
        assert graded() == 0 and tasks(root) == expected
        assert points(root) == POINTS


def test_a_question_that_is_new_is_refused_and_changes_nothing(root, by_rule):
    assert graded() == 0
    before, released = rows(root), (root / "release" / NAME / f"{NAME}.ipynb").read_bytes()

    def add(notebook) -> None:
        notebook.cells += sealed_course.exercise("item_mean_q2", 2.0, 'item_mean_q2 = "A"',
                                                 'check_choice("item_mean_q2", item_mean_q2)',
                                                 'check_choice("item_mean_q2", item_mean_q2, key="A")')

    status, said = release(root, add)
    assert status == 1 and "Cannot add or remove cells" in said
    assert rows(root) == before
    tasks(root)
    assert graded() == 0 and tasks(root) == [] and rows(root) == before
    assert not (root / "release" / NAME / f"{NAME}.ipynb").exists() or (
        root / "release" / NAME / f"{NAME}.ipynb").read_bytes() == released


@with_marks(*for_real)
def test_a_new_key_in_a_term_changes_its_marks_alone_and_feedback_says_so(root):
    real = {**POINTS, "dora": 15.0}
    by_hand(root)
    assert points(root) == {**real, "dora": 18.0, "ben": 1.5}
    assert nbgrader(root, "generate_feedback", NAME)[0] == 0

    def other_key(notebook) -> None:
        asked = cell(notebook, "item_mean_q1")
        asked.source = asked.source.replace('key="B"', 'key="A"').replace("Not so: HIDDEN-CANARY.", "Yes, A it is.")

    status, said = release(root, other_key)
    assert status == 0, said
    status, said = nbgrader(root, "autograde", NAME, "--force")
    assert status == 0, said
    through_nbgrader = rows(root)
    assert graded() == 0 and rows(root) == through_nbgrader
    assert points(root) == {"ada": 25.0, "ben": 1.5, "cleo": 10.0, "dora": 18.0, "emil": 2.0}
    with gradebook(root) as book:
        late = {student: book.find_submission(NAME, student).late_submission_penalty or 0 for student in ANSWERS}
        assert late == {"ada": 0, "ben": 0, "cleo": 10.0, "dora": 0, "emil": 0}
        assert book.find_submission(NAME, "ada").extension == timedelta(hours=2)
        assert book.find_comment("essay", NAME, NAME, "dora").manual_comment == "Well put."
        for student, name in (("ben", "is_equivalent"), ("dora", "essay")):  # listed to be looked at once more
            assert book.find_grade(name, NAME, NAME, student).needs_manual_grade
    assert nbgrader(root, "generate_feedback", NAME, "--force")[0] == 0
    page = (root / "feedback" / "emil" / NAME / f"{NAME}.html").read_text()
    assert "Yes, A it is." in page and "HIDDEN-CANARY" not in page
