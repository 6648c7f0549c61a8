"""Real `nbgrader autograde` and `generate_feedback` on submissions that would upset a plain nbgrader."""

import re
from copy import deepcopy
from html import unescape
from pathlib import Path

import nbformat
import pytest
from classroom import trial_course
from classroom.trial_course import NAME, POINTS, RIGHT, SECRET_LINE, cell

pytestmark = pytest.mark.timeout(400)


def copied_check(notebook):
    copy = deepcopy(cell(notebook, "double"))
    copy.id = "copied"
    notebook.cells.insert(1, copy)


def deleted_check(notebook):
    notebook.cells.remove(cell(notebook, "double"))


def skipped_and_flipped(notebook):
    check = cell(notebook, "double")
    check.metadata["tags"] = ["skip-execution"]
    check.metadata.nbgrader.grade = False
    check = cell(notebook, "triple")
    check.source = "1000.0"
    check.metadata.nbgrader.update(solution=True, points=1000)


def strange_metadata(notebook):
    stranger = deepcopy(cell(notebook, "essay"))
    stranger.id, stranger.metadata.nbgrader.grade_id = "stranger", "my_own"
    notebook.cells.append(stranger)
    notebook.cells[0].metadata["nbgrader"] = {}
    cell(notebook, "double").metadata.nbgrader.schema_version = 1


KILLS = "os._exit(3)"
HANGS = """import time
while True:
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        pass"""
NOISY = "def double(x):\n    print('loud', file=sys.stderr)\n    return 2 * x"
HUGE = "for _ in range(20): print('x' * 1_000_000)\n"
FAILS_HIDDEN = "def double(x):\n    assert x < 20\n    return 2 * x"
SHOWS_INPUT = "print(In[-2]); print(In)\n"
INVENTS = """
import ast
class Invent(ast.NodeTransformer):
    def visit(self, tree):
        return ast.parse("1e9")
get_ipython().ast_transformers.append(Invent())"""

SUBMISSIONS = {
    "a_right": (RIGHT, None),
    "b_copied_check": (RIGHT, copied_check),
    "c_deleted_check": (RIGHT, deleted_check),
    "d_skipped_and_flipped": ({"triple": RIGHT["triple"]}, skipped_and_flipped),
    "e_strange_metadata": (RIGHT, strange_metadata),
    "f_kernel_died": (RIGHT | {"triple": KILLS}, None),
    "g_kernel_stuck": (RIGHT | {"triple": HANGS}, None),
    "h_noisy": (RIGHT | {"double": NOISY}, None),
    "i_huge_output": (RIGHT | {"triple": HUGE + RIGHT["triple"]}, None),
    "j_shows_hidden": ({"double": FAILS_HIDDEN, "triple": SHOWS_INPUT + RIGHT["triple"]}, None),
    "k_untouched": ({}, None),
    "l_invents_points": (RIGHT | {"double": RIGHT["double"] + INVENTS}, None),
    "m_right_after_all_that": (RIGHT, None),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    released = trial_course.make(root)
    for student, (answers, edit) in SUBMISSIONS.items():
        trial_course.submit(root, released, student, answers, edit)
    log = trial_course.nbgrader(root, "autograde", NAME)
    (root / "log.txt").write_text(log)
    trial_course.nbgrader(root, "generate_feedback", NAME)
    return root


@pytest.fixture(scope="module")
def points(course):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / '.course' / 'gradebook.db'}") as gradebook:
        return {
            s.student.id: {g.name: g.score for n in s.notebooks for g in n.grades if not g.needs_manual_grade}
            for s in gradebook.assignment_submissions(NAME)
        }


FULL = {name: POINTS[name] for name in ("double", "triple")}


@pytest.mark.parametrize("student", ["a_right", "h_noisy", "i_huge_output", "m_right_after_all_that"])
def test_right_answers_get_all_points(points, student):
    assert points[student] == FULL | {"essay": 0}  # the essay is untouched: no mark by hand is waited for


@pytest.mark.parametrize("student", ["b_copied_check", "c_deleted_check", "e_strange_metadata"])
def test_damaged_notebooks_are_repaired_at_no_cost(points, student):
    assert points[student] == FULL | {"essay": 0}


def test_tags_and_flags_give_no_marks(points):
    assert points["d_skipped_and_flipped"] == {"double": 0, "triple": 3, "essay": 0}


@pytest.mark.parametrize("student", ["f_kernel_died", "g_kernel_stuck"])
def test_what_ran_before_the_kernel_went_keeps_its_mark(points, student):
    assert points[student] == {"double": 2, "triple": 0, "essay": 0}


@pytest.mark.parametrize(
    ("student", "reason"), [("f_kernel_died", "kernel died"), ("g_kernel_stuck", "kernel was stuck")]
)
def test_cells_that_could_not_run_say_why(course, student, reason):
    graded = nbformat.read(course / "autograded" / student / NAME / f"{NAME}.ipynb", as_version=4)
    (error,) = cell(graded, "triple").outputs
    assert error.ename == "NotRun" and reason in error.evalue


def test_every_submission_is_graded(course, points):
    assert set(points) == {path.name for path in (course / "autograded").iterdir()} == set(SUBMISSIONS)


def test_untouched_release_scores_zero(points):
    assert points["k_untouched"] == {"double": 0, "triple": 0, "essay": 0}


def test_invented_result_is_cut_to_the_points_of_the_check(points):
    assert points["l_invents_points"] == {"double": 2, "triple": 3, "essay": 0}


def test_huge_output_is_cut(course):
    graded = course / "autograded" / "i_huge_output" / NAME / f"{NAME}.ipynb"
    assert graded.stat().st_size < 300_000


def test_only_tampering_is_warned_about(course):
    log = (course / "log.txt").read_text()
    assert log.count("was changed by the learner and is restored") == 1
    assert "'checksum'" not in log and "Kernel is running over TCP" not in log


@pytest.mark.parametrize("student", list(SUBMISSIONS))
def test_feedback_holds_no_hidden_test(course, student):
    page = text_of(course, student)
    for text in (SECRET_LINE, "a hidden reason", "double(21)", "HIDDEN TESTS"):
        assert text not in page
    assert "double(1)" in page  # the visible part of the check is there


def test_feedback_keeps_the_reason(course):
    assert "NotImplementedError" in text_of(course, "k_untouched")


def text_of(course: Path, student: str) -> str:
    """What a person reads on a page of feedback."""
    page = (course / "feedback" / student / NAME / f"{NAME}.html").read_text()
    return unescape(re.sub(r"<[^>]*>", "", page))
