"""Guards around nbgrader's own commands: links, pipes and devices in a submission, and two graders at once.

No cell is run here: what autograding copies, opens and holds is the same without.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import notebook_hash

sys.path.insert(0, str(Path(__file__).parent))
from fake_workers import mark_by_rule  # noqa: E402
from sealed_course import NAME, RIGHT, copied, make_class, nbgrader  # noqa: E402

from autograder.__main__ import main  # noqa: E402
from autograder.classroom.course import Course  # noqa: E402

CANARY = "CANARY-OF-THE-HOST"
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
MORE = """
import pathlib, time
c.Autograde.autograde_preprocessors = c.Autograde.autograde_preprocessors[1:]  # run nothing

def wait_if_told(**names):
    if pathlib.Path("hold").exists():
        pathlib.Path("began").touch()
        while pathlib.Path("hold").exists():
            time.sleep(0.05)

c.Autograde.pre_convert_hook = wait_if_told
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    everybody = dict.fromkeys(("ada", "mallory", "zoe"), RIGHT)
    return make_class(tmp_path_factory.mktemp("guard") / "course", everybody, MORE)


@pytest.fixture
def root(template, tmp_path, monkeypatch) -> Path:
    root = copied(template, tmp_path / "course")
    monkeypatch.chdir(root)
    mark_by_rule(monkeypatch, tmp_path / "tasks")
    (tmp_path / "host.txt").write_text(CANARY)
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "inner.txt").write_text(CANARY)
    return root


def formgrader(root: Path, student: str) -> dict:
    """What formgrader's button does, in its process."""
    config = Course(root).config
    config.Autograde.autograde_preprocessors = config.Autograde.autograde_preprocessors[1:]
    return NbGraderAPI(CourseDirectory(config=config), config=config).autograde(NAME, student)


def put_traps(folder: Path, host: Path) -> None:
    """Everything that copying must not follow, or would never finish."""
    (folder / "data.csv").write_text("1,2\n")
    (folder / "sub").mkdir()
    (folder / "[b]ook*.txt").symlink_to(host / "host.txt")
    (folder / "sub" / "deep.txt").symlink_to("../../../../../host.txt")
    (folder / "whole").symlink_to(host / "host")
    (folder / "gone").symlink_to("/nowhere")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "other.ipynb").write_text("{}")
    os.mkfifo(folder / "pipe")
    with (folder / "huge").open("wb") as file:
        file.truncate(300_000_000)


def files(*places: Path) -> dict[str, Path]:
    return {path.name: path for place in places for path in place.rglob("*") if not path.is_dir()}


def no_canary(*places: Path) -> bool:
    return not any(path.is_symlink() or CANARY in path.read_text() for path in files(*places).values())


# ---- what copying follows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["nbgrader", "formgrader", "grade"])
def test_links_pipes_devices_and_huge_files_are_not_copied_and_the_class_is_graded(root, how):
    put_traps(root / "submitted" / "mallory" / NAME, root.parent)
    if how == "nbgrader":
        status, said = nbgrader(root, "autograde", NAME)
        assert status == 0 and "Not copied: whole: it is a symbolic link" in said
    elif how == "formgrader":
        for student in ("ada", "mallory", "zoe"):
            assert formgrader(root, student)["success"]
    else:
        assert main(["grade", NAME]) == 0
    status, said = nbgrader(root, "generate_feedback", NAME)
    assert status == 0, said
    for step in ("autograded", "feedback"):
        assert set(files(root / step / "mallory")) == {
            "data.csv", f"{NAME}.{'html' if step == 'feedback' else 'ipynb'}"}
    assert no_canary(root / "autograded", root / "feedback")
    assert (root / "autograded" / "zoe" / NAME / f"{NAME}.ipynb").is_file()


def pipe(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)


def link(folder: Path, name: str, to: str) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(to)


TRAPS = {
    "notebook is a link to the solution": (
        lambda folder: link(folder, f"{NAME}.ipynb", f"../../../source/{NAME}/{NAME}.ipynb"), "is a symbolic link"),
    "notebook is a dangling link": (lambda folder: link(folder, f"{NAME}.ipynb", "nowhere"), "is a symbolic link"),
    "notebook is a pipe": (lambda folder: pipe(folder, f"{NAME}.ipynb"), "is a pipe"),
    "time is a pipe": (lambda folder: pipe(folder, "timestamp.txt"), "is a pipe"),
    "folder is a link": (lambda folder: (shutil.rmtree(folder), folder.symlink_to(f"../../source/{NAME}")),
                         "is a symbolic link"),
}


@pytest.mark.parametrize("how", ["nbgrader", "grade"])
@pytest.mark.parametrize("trap", TRAPS)
def test_a_submission_that_is_no_file_has_no_mark_and_the_others_are_graded(root, capsys, how, trap):
    put, words = TRAPS[trap]
    put(root / "submitted" / "mallory" / NAME)
    if how == "nbgrader":
        status, said = nbgrader(root, "autograde", NAME)
    else:
        status, said = main(["grade", NAME]), capsys.readouterr().out
    assert status == 1 and words in said and "mallory" in said
    assert not (root / "autograded" / "mallory" / NAME).exists()
    assert all((root / "autograded" / student / NAME / f"{NAME}.ipynb").is_file() for student in ("ada", "zoe"))
    with Gradebook(f"sqlite:///{root / '.course' / 'gradebook.db'}") as book:
        marks = [grade.auto_score for submission in book.find_assignment(NAME).submissions
                 if submission.student.id == "mallory" for notebook in submission.notebooks
                 for grade in notebook.grades]
    assert not any(mark is not None for mark in marks)


@not_as_root
@pytest.mark.parametrize("closed", ["..", ".", f"{NAME}.ipynb", "timestamp.txt"])
def test_a_submission_that_may_not_be_read_is_named_and_the_others_are_graded(root, capsys, closed):
    (root / "submitted" / "mallory" / NAME / "timestamp.txt").touch()
    place = (root / "submitted" / "mallory" / NAME / closed).resolve()
    place.chmod(0)
    try:
        assert main(["grade", NAME]) == 1
    finally:
        place.chmod(0o700)
    said = capsys.readouterr().out
    assert "2 graded, 0 graded before, 1 not graded." in said
    assert f"Not graded: mallory: {place} cannot be " in said and "Permission denied. Change its permissions." in said
    assert main(["grade", NAME]) == 0


@not_as_root
@pytest.mark.parametrize("how", ["nbgrader", "grade"])
def test_what_may_not_be_read_beside_a_notebook_is_left_where_it_is(root, how):
    folder = root / "submitted" / "mallory" / NAME
    (folder / "notes.txt").touch(mode=0)
    (folder / "sub").mkdir(mode=0)
    assert (nbgrader(root, "autograde", NAME)[0] if how == "nbgrader" else main(["grade", NAME])) == 0
    assert set(files(root / "autograded" / "mallory")) == {f"{NAME}.ipynb"}


@not_as_root
def test_nbgrader_s_collect_goes_on_where_learners_closed_what_they_handed_in(root):
    inbound = root / ".course" / "exchange" / "global-gradient" / "inbound"
    places = {student: inbound / f"{student}+{NAME}+2026-03-01 10:00:00 UTC+{student}"
              for student in ("ada", "mallory", "zoe")}
    for student, place in places.items():
        shutil.move(root / "submitted" / student / NAME, place)
    (places["ada"] / "sub" / "deep").mkdir(parents=True)
    (places["ada"] / "sub" / "deep").chmod(0)
    places["mallory"].chmod(0)
    try:
        status, said = nbgrader(root, "collect", NAME)
    finally:
        places["mallory"].chmod(0o700)
    assert status == 0, said
    assert f"Not collected: {places['mallory']} cannot be opened: Permission denied" in said
    assert f"Not collected: {places['ada']}/sub/deep: " in said
    assert all((root / "submitted" / student / NAME / f"{NAME}.ipynb").is_file() for student in ("ada", "zoe"))
    assert not list((root / "submitted").glob("mallory/*/*"))


def test_nbgrader_s_collect_follows_no_link_out_of_the_exchange(root):
    inbound = root / ".course" / "exchange" / "global-gradient" / "inbound"
    for student in ("ada", "mallory", "zoe"):
        shutil.move(root / "submitted" / student / NAME,
                    inbound / f"{student}+{NAME}+2026-03-01 10:00:00 UTC+{student}")
    put_traps(inbound / f"mallory+{NAME}+2026-03-01 10:00:00 UTC+mallory", root.parent)
    (inbound / f"eve+{NAME}+2026-03-01 10:00:00 UTC+x").symlink_to(root / "source" / NAME)
    status, said = nbgrader(root, "collect", NAME)
    assert status == 0, said
    assert set(files(root / "submitted" / "mallory")) == {
        "data.csv", f"{NAME}.ipynb", "other.ipynb", "timestamp.txt", "submission_secret.txt"}
    assert no_canary(root / "submitted") and not (root / "submitted" / "eve" / NAME).exists()
    assert (root / "submitted" / "zoe" / NAME / f"{NAME}.ipynb").is_file()
    assert nbgrader(root, "autograde", NAME)[0] == 0
    assert nbgrader(root, "generate_feedback", NAME)[0] == 0
    status, said = nbgrader(root, "release_feedback", NAME)
    assert status == 0 and len(list((root / ".course").glob("exchange/*/feedback/*.html"))) == 3, said


@pytest.mark.timeout(600)
def test_a_learner_s_time_that_is_none_does_not_stop_nbgrader_s_next_collect(root):
    inbound = root / ".course" / "exchange" / "global-gradient" / "inbound"
    handed_in = inbound / f"mallory+{NAME}+2026-03-01 10:00:00 UTC+mallory"
    shutil.move(root / "submitted" / "mallory" / NAME, handed_in)
    (handed_in / "timestamp.txt").write_bytes(b"\xff soon")
    for _ in range(2):
        status, said = nbgrader(root, "collect", NAME, "--update")
        assert status == 0, said
    assert (root / "submitted" / "mallory" / NAME / "timestamp.txt").read_text() == "2026-03-01 10:00:00 UTC"


def test_feedback_is_released_to_all_who_have_a_secret_and_the_others_are_named(root):
    """A mixed class: uploads that collect took in, and what was put into submitted/ in other ways, with pages."""
    for student in ("ada", "zoe"):
        shutil.move(root / "submitted" / student / NAME, root / "uploads" / student)
    assert main(["collect", NAME, "uploads"]) == 0
    (root / "submitted" / "mallory" / NAME / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC")
    shutil.copytree(root / "submitted" / "mallory", root / "submitted" / "Doe, Jane")
    shutil.copytree(root / "submitted", root / "feedback", ignore=shutil.ignore_patterns("*.ipynb"))
    for folder in root.glob("feedback/*/*"):
        (folder / f"{NAME}.html").write_text("A page.")
    status, said = nbgrader(root, "release_feedback", NAME)
    assert status == 0 and "Traceback" not in said, said
    assert "not handed in through the exchange: Doe, Jane, mallory." in said
    secrets = [file.read_text() for file in sorted(root.glob("submitted/*/*/submission_secret.txt"))]
    assert len(secrets) == 2
    released = {page.stem for page in (root / ".course").glob("exchange/*/feedback/*.html")}
    assert released == {notebook_hash(secret=secret, notebook_id=NAME) for secret in secrets}


def test_collecting_uploads_follows_no_link_and_overwrites_nothing_through_one(root, capsys):
    uploads = root.parent / "uploads"
    for student in ("eve", "finn", "gus"):
        shutil.copytree(root / "submitted" / "ada" / NAME, uploads / student)
    link(uploads / "eve", f"{NAME}.ipynb", str(root / "source" / NAME / f"{NAME}.ipynb"))
    (uploads / "whole").symlink_to(root / "source")
    pipe(uploads / "finn", f"{NAME}.ipynb")
    there = root / "submitted" / "gus" / NAME
    there.mkdir(parents=True)
    solution = root / "source" / NAME / f"{NAME}.ipynb"
    before = solution.read_bytes()
    link(there, f"{NAME}.ipynb", str(solution))
    assert main(["collect", NAME, str(uploads)]) == 1
    said = capsys.readouterr().err
    for words in (f"eve/{NAME}.ipynb: it is a symbolic link", f"finn/{NAME}.ipynb: it is a pipe",
                  "whole: it is a symbolic link", f"gus/{NAME}.ipynb: "):
        assert f"Not taken: {words}" in said
    assert solution.read_bytes() == before
    assert not any((root / "submitted" / student).exists() for student in ("eve", "finn"))


# ---- a gradebook that takes no marks -----------------------------------------------------------------------


def test_autograde_without_a_gradebook_says_once_what_makes_it(root):
    (root / ".course" / "gradebook.db").unlink()
    status, said = nbgrader(root, "autograde", NAME)
    assert status == 1 and "There is no gradebook" in said and "nbgrader generate_assignment" in said
    assert "Traceback" not in said and not (root / "autograded").exists()


@not_as_root
def test_autograde_stops_at_a_read_only_gradebook_with_one_message(root):
    (root / ".course" / "gradebook.db").chmod(0o444)
    status, said = nbgrader(root, "autograde", NAME)
    assert status == 1 and said.count("cannot be written") == 1 and "Change its permissions" in said
    assert "Traceback" not in said and not (root / "autograded").exists()


# ---- two graders -------------------------------------------------------------------------------------------


def test_nbgrader_leaves_an_assignment_alone_that_is_being_graded(root):
    status, said = nbgrader(root, "autograde", NAME)
    assert status == 0, said
    before = {path: path.read_bytes() for path in (root / "autograded").rglob("*.ipynb")}
    book = (root / ".course" / "gradebook.db").read_bytes()
    with Course(root).lock(NAME):
        status, said = nbgrader(root, "autograde", NAME, "--force")
        pressed = formgrader(root, "ada")
    words = f"{NAME} is being graded already, by process {os.getpid()}"
    assert status == 1 and words in said and "Traceback" not in said
    assert not pressed["success"] and words in pressed["log"]
    assert {path: path.read_bytes() for path in (root / "autograded").rglob("*.ipynb")} == before
    assert (root / ".course" / "gradebook.db").read_bytes() == book
    assert formgrader(root, "ada")["success"] and formgrader(root, "ada")["success"]  # and lets go of it each time


def test_grade_leaves_an_assignment_alone_that_nbgrader_grades(root, capsys):
    (root / "hold").touch()
    other = subprocess.Popen([sys.executable, "-m", "nbgrader", "autograde", NAME], cwd=root,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (root / "began").exists():
            assert other.poll() is None
            time.sleep(0.05)
        assert main(["grade", NAME]) == 1
        assert f"{NAME} is being graded already, by process {other.pid}" in capsys.readouterr().err
        (root / "hold").unlink()
        assert other.wait() == 0
    finally:
        other.kill()
        other.wait()
    assert main(["grade", NAME]) == 0
