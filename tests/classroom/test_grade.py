"""`python -m autograder grade`: marks are nbgrader's, nothing is lost or repeated, and every trouble is one message.

The fast tests mark by a rule in place of sandboxes (`fake_workers.py`); the slow ones grade for real.
"""

import csv
import errno
import json
import os
import random
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import psutil
import pytest
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook
from nbgrader.plugins import LateSubmissionPlugin

sys.path.insert(0, str(Path(__file__).parent))
import fake_workers  # noqa: E402
import sealed_course  # noqa: E402
from sealed_course import NAME, RIGHT, copied, make_class, nbgrader, nothing_left_behind  # noqa: E402

from autograder.__main__ import main  # noqa: E402
from autograder.classroom import course  # noqa: E402
from autograder.classroom.config import course_secret  # noqa: E402
from autograder.classroom.grade import command, progress, results  # noqa: E402
from autograder.classroom.sealed import sandbox  # noqa: E402

pytestmark = pytest.mark.timeout(600)
ROOT = Path(__file__).resolve().parents[2]
WRONG = """def synchronized_item_mean(local_gradients):
    mean = local_gradients.mean(dim=0)
    dist.all_reduce(mean)
    return mean / dist.get_world_size()"""
HOSTILE = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
ANSWERS = {"ada": RIGHT, "ben": {}, "cleo": {**RIGHT, "synchronized_item_mean": WRONG},
           "dora": {**RIGHT, "is_equivalent": HOSTILE}, "emil": {"item_mean_q1": 'item_mean_q1 = "A"'}}
POINTS = {"ada": 27.0, "ben": 0.0, "cleo": 12.0, "dora": 17.0, "emil": 0.0}
LATE = """c.LateSubmissionPlugin.penalty_method = "zero"
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """A released assignment and five submissions; copied for each test, since its settings name its folder."""
    root = make_class(tmp_path_factory.mktemp("template") / "course", ANSWERS, LATE)
    course_secret(root / ".course" / "secret")  # one for all copies: they draw the same trials
    return root


@pytest.fixture
def root(template, tmp_path, monkeypatch) -> Path:
    root = copied(template, tmp_path / "course")
    monkeypatch.chdir(root)
    fake_workers.mark_by_rule(monkeypatch, tmp_path / "tasks")
    return root


def graded(*more: str) -> int:
    return main(["grade", NAME, *more])


def tasks(root: Path) -> list[str]:
    """What the workers were asked since the last time, and forgets it."""
    file = root.parent / "tasks"
    lines = sorted(file.read_text().split("\n")[:-1])
    file.write_text("")
    return lines


def points(root: Path) -> dict[str, float]:
    with gradebook(root) as book:
        return {found.student.id: found.score for found in book.find_assignment(NAME).submissions}


def rows(root: Path) -> list[tuple]:
    """All automatic marks in the gradebook, however often a mark is there."""
    with sqlite3.connect(root / ".course" / "gradebook.db") as book:
        found = book.execute("""select submitted_assignment.student_id, base_cell.name, grade.auto_score,
            grade.manual_score, grade.needs_manual_grade from grade join base_cell on base_cell.id = grade.cell_id
            join submitted_notebook on submitted_notebook.id = grade.notebook_id
            join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id""").fetchall()
    return sorted(found, key=str)


def gradebook(root: Path) -> Gradebook:
    return Gradebook(f"sqlite:///{root / '.course' / 'gradebook.db'}")


# ---- marks -------------------------------------------------------------------------------------------------


def test_marks_are_written_by_nbgrader_and_a_second_run_repeats_nothing(root, capsys):
    assert graded() == 0
    assert points(root) == POINTS
    assert tasks(root) == [f"{student} all" for student in ANSWERS]
    assert (root / "autograded" / "ada" / NAME / f"{NAME}.ipynb").is_file()
    before, changed = rows(root), (root / ".course" / "gradebook.db").stat().st_mtime_ns
    assert graded() == 0
    assert tasks(root) == [] and rows(root) == before
    assert (root / ".course" / "gradebook.db").stat().st_mtime_ns == changed
    assert "0 graded, 5 graded before" in capsys.readouterr().out


def test_half_characters_in_a_notebook_do_not_keep_it_from_being_written(root):
    for student in ("ada", "ben"):
        file = root / "submitted" / student / NAME / f"{NAME}.ipynb"
        file.write_text(file.read_text().replace("Explain.", r"Explain. \ud83d"))
    assert graded() == 0
    assert points(root) == POINTS


def test_a_new_submission_is_graded_and_the_others_are_not(root):
    assert graded() == 0
    tasks(root)
    shutil.copy(root / "submitted" / "ada" / NAME / f"{NAME}.ipynb", root / "submitted" / "ben" / NAME)
    assert graded() == 0
    assert tasks(root) == ["ben all"]
    assert points(root) == {**POINTS, "ben": 27.0}


def test_a_mark_that_something_else_changed_is_put_right_without_grading_again(root):
    assert graded() == 0
    tasks(root)
    with sqlite3.connect(root / ".course" / "gradebook.db") as book:
        book.execute("update grade set auto_score = 0.25")
    assert graded() == 0
    assert points(root) == POINTS and tasks(root) == []


def test_late_penalties_extensions_and_marks_by_hand_survive_a_regrade(root):
    for student, late in (("ada", 1), ("cleo", 1), ("dora", -1)):
        time_of = datetime(2026, 3, 1) + timedelta(hours=late)
        (root / "submitted" / student / NAME / "timestamp.txt").write_text(f"{time_of} UTC")
    with gradebook(root) as book:
        book.update_or_create_assignment(NAME, duedate=datetime(2026, 3, 1))
    assert graded() == 0
    with gradebook(root) as book:
        assert book.find_submission(NAME, "ada").late_submission_penalty == 27.0
        book.grant_extension(NAME, "ada", hours=2)
        book.find_grade("essay", NAME, NAME, "dora").manual_score = 3.0
        book.find_grade("is_equivalent", NAME, NAME, "ben").manual_score = 1.5
        book.db.commit()
    assert graded("--force") == 0
    assert points(root) == {**POINTS, "dora": 20.0, "ben": 1.5}
    with gradebook(root) as book:
        assert [book.find_submission(NAME, one).late_submission_penalty or 0 for one in ("ada", "cleo", "dora")] == [
            0, 12.0, 0]
        assert book.find_submission(NAME, "ada").extension == timedelta(hours=2)


def penalties(root: Path) -> dict[str, float]:
    with gradebook(root) as book:
        return {one.student.id: one.late_submission_penalty for one in book.find_assignment(NAME).submissions
                if one.late_submission_penalty}


def test_an_extension_a_due_date_and_a_penalty_method_count_the_next_time_and_nothing_runs(root, capsys):
    for student in ("ada", "cleo"):
        (root / "submitted" / student / NAME / "timestamp.txt").write_text("2026-03-01 01:00:00 UTC")

    def due(day: datetime) -> None:
        with gradebook(root) as book:
            book.update_or_create_assignment(NAME, duedate=day)

    def extension() -> None:
        page = (ROOT / "docs" / "instructors.md").read_text(encoding="utf8")
        (line,) = re.findall(r"^ *python (-c .*grant_extension.*)$", page, re.M)
        command = shlex.split(line.replace("item_mean", NAME))
        subprocess.run([sys.executable, *command], cwd=root, check=True)

    def method(old: str, new: str) -> None:
        config = root / "nbgrader_config.py"
        config.write_text(config.read_text().replace(f'penalty_method = "{old}"', f'penalty_method = "{new}"'))

    def by_hand() -> None:
        with gradebook(root) as book:
            essay = book.find_grade("essay", NAME, NAME, "cleo")
            essay.manual_score, essay.needs_manual_grade = 3.0, False
            book.db.commit()

    due(datetime(2026, 3, 1))
    assert graded() == 0 and penalties(root) == {"ada": 27.0, "cleo": 12.0}
    before = rows(root)
    for change, named, expected in (
            (extension, "ada", {"cleo": 12.0}),
            (lambda: method("zero", "none"), "cleo", {}),
            (lambda: method("none", "zero"), "cleo", {"cleo": 12.0}),
            (lambda: due(datetime(2026, 2, 1)), "ada", {"ada": 27.0, "cleo": 12.0}),
            (lambda: due(datetime(2026, 4, 1)), "ada, cleo", {}),
            (by_hand, None, {}),
            (lambda: due(datetime(2026, 2, 28)), "cleo", {"cleo": 15.0})):
        tasks(root)
        change()
        capsys.readouterr()
        assert graded() == 0 and penalties(root) == expected
        said = capsys.readouterr().out.splitlines()
        assert said == ["0 graded, 5 graded before, 0 not graded."] + (
            [f"Late penalty worked out again: {named}"] if named else [])
        assert tasks(root) == []
    with gradebook(root) as book:
        assert not book.find_grade("essay", NAME, NAME, "cleo").needs_manual_grade  # nobody has to look again
    assert [row[:3] for row in rows(root)] == [row[:3] for row in before]
    changed = (root / ".course" / "gradebook.db").stat().st_mtime_ns
    assert graded() == 0 and (root / ".course" / "gradebook.db").stat().st_mtime_ns == changed


def test_a_late_penalty_that_cannot_be_worked_out_is_said(root, capsys, monkeypatch):
    (root / "submitted" / "ada" / NAME / "timestamp.txt").write_text("2026-03-01 01:00:00 UTC")
    assert graded() == 0

    def broken(*_) -> None:
        raise ValueError("a plugin that is broken")

    monkeypatch.setattr(LateSubmissionPlugin, "late_submission_penalty", broken)
    with gradebook(root) as book:
        book.update_or_create_assignment(NAME, duedate=datetime(2026, 3, 1))
    capsys.readouterr()
    assert graded() == 1
    said = capsys.readouterr().out
    assert "0 graded, 4 graded before, 1 not graded." in said
    assert "Not graded: ada: nbgrader could not write it (a plugin that is broken)" in said


def test_one_exercise_is_graded_again_and_the_other_marks_stay(root, monkeypatch):
    assert graded() == 0
    tasks(root)
    monkeypatch.setenv("FAKE_CREDIT", "0.5")
    assert graded("--exercise", "is_equivalent", "--force", "--student", "emil", "--student", "cleo") == 0
    assert tasks(root) == ["cleo is_equivalent", "emil is_equivalent"]
    assert points(root) == {**POINTS, "emil": 5.0}
    assert graded() == 0 and tasks(root) == []


def test_one_student_is_graded_again(root):
    assert graded() == 0
    tasks(root)
    assert graded("--student", "ben", "--force") == 0
    assert tasks(root) == ["ben all"]


def test_export_and_report_show_the_marks_and_their_reasons(root, capsys):
    assert graded() == 0
    with gradebook(root) as book:
        book.update_or_create_student("ada", last_name="B, Jr", first_name="Ada")
        book.find_grade("essay", NAME, NAME, "ben").needs_manual_grade = True
        book.db.commit()
    for form in ("csv", "canvas", "moodle"):
        assert main(["export", NAME, "--format", form]) == 0
    with open(f"grades-{NAME}-csv.csv", newline="") as file:
        found = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {student: float(row["total"]) for student, row in found.items()} == POINTS
    assert found["ada"]["last_name"] == "B, Jr"
    assert found["cleo"]["synchronized_item_mean diagnosis"] == "wrong-value"
    assert found["cleo"]["synchronized_item_mean reason"] == "A reason."
    with open(f"grades-{NAME}-canvas.csv", newline="") as file:
        assert [row[3] for row in csv.reader(file)][2:] == ["ada", "cleo", "dora", "emil"]  # ben waits
    assert main(["report", NAME]) == 0
    assert "synchronized_item_mean: wrong-value" in capsys.readouterr().out
    assert "cleo" in (root / f"report-{NAME}.html").read_text()


# ---- troubles ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments, words", [
    (["grade", "sealde"], "knows no assignment 'sealde' (it knows: sealed)"),
    (["grade", NAME, "--student", "nobody"], "no submission of sealed by nobody"),
    (["grade", NAME, "--exercise", "essays"], "has no exercise 'essays'; it has"),
])
def test_unknown_names_are_one_clear_message(root, capsys, arguments, words):
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


@pytest.mark.parametrize("known", [None, "another", NAME])
def test_the_command_that_is_named_enters_an_assignment_though_its_release_is_there(root, capsys, known):
    (root / ".course" / "gradebook.db").unlink()
    if known is not None:
        with gradebook(root) as book:
            book.update_or_create_assignment(known)
    assert graded() == 1
    command = re.search(r"nbgrader (generate_assignment \w+(?: --force)?)", capsys.readouterr().err)[1]
    assert nbgrader(root, *command.split())[0] == 0
    assert graded() == 0 and points(root) == POINTS


def test_progress_in_a_log_is_a_line_now_and_then(root, monkeypatch, capsys):
    assert graded() == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "LOG_SECONDS", 0.0)
    assert graded("--force") == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    for number, line in enumerate(lines, start=2):
        assert re.fullmatch(rf"{number} of 5, \d+\.\d a (second|minute), \d+ (seconds|minutes) left", line), line


def test_the_time_left_does_not_count_how_long_starting_took(monkeypatch, capsys):
    clock = iter([100.0, 140.0, 180.0])  # the first result comes late, then one in 40 s
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = progress.Lines(5)
    for _ in range(3):
        lines.update()
    assert capsys.readouterr().err.splitlines() == [
        "2 of 5, 1.5 a minute, 2 minutes left", "3 of 5, 1.5 a minute, 80 seconds left"]


@pytest.mark.parametrize("done, seconds, words", [
    (12, 8.6, "12 of 200, 1.4 a second, 2 minutes left"), (12, 60.0, "12 of 200, 12.0 a minute, 16 minutes left"),
    (150, 75.0, "150 of 200, 2.0 a second, 25 seconds left"), (1, 100.0, "1 of 200, 36.0 an hour, 6 hours left")])
def test_progress_is_in_units_that_people_read(done, seconds, words):
    assert progress.pace(done, 200, seconds) == words


def test_no_submissions_is_one_clear_message(root, capsys):
    shutil.rmtree(root / "submitted")
    assert graded() == 1
    assert "collect them first (nbgrader collect sealed)" in capsys.readouterr().err


def test_outside_a_course_is_one_clear_message(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert graded() == 1
    assert "There is no nbgrader_config.py" in capsys.readouterr().err


def test_what_is_no_notebook_waits_for_a_person_and_the_class_is_graded(root, capsys):
    (root / "submitted" / "ada" / NAME / f"{NAME}.ipynb").write_text("I am no JSON")
    with (root / "submitted" / "ben" / NAME / f"{NAME}.ipynb").open("r+b") as file:
        file.truncate(300_000_000)
    (root / "submitted" / "cleo" / NAME / f"{NAME}.ipynb").rename(root / "submitted" / "cleo" / NAME / "my work.ipynb")
    assert graded() == 1
    said = capsys.readouterr().out
    assert f"Not graded: ada: {NAME}.ipynb is no notebook that can be read" in said
    assert f"Not graded: ben: {NAME}.ipynb has 300 MB, more than the 64 that are accepted" in said
    assert "Not graded: cleo:" in said and "but my work.ipynb" in said
    assert tasks(root) == ["dora all", "emil all"]
    with gradebook(root) as book:
        assert book.find_submission(NAME, "ada").needs_manual_grade
    assert {student: points(root)[student] for student in ("dora", "emil")} == {"dora": 17.0, "emil": 0.0}


def put_in(root: Path, student: str, like: str = "ada") -> Path:
    """A submission like that of another learner; its folder."""
    return Path(shutil.copytree(root / "submitted" / like, root / "submitted" / student)) / NAME


def test_names_of_folders_are_those_of_learners_or_are_named(root, capsys):
    """For nbgrader the first is a pattern that the second fits, the third is `eve`; the fourth is no text."""
    for student in ("a[d]a", "eve ", "-x 'y\"", "fay\udcff"):
        put_in(root, student)
    assert graded() == 1
    said = capsys.readouterr().out
    assert "Not graded: a[d]a: nbgrader takes [, * and ? in a name for a pattern." in said
    assert "Not graded: fay\\udcff: The name of this folder is no UTF-8 text." in said
    with gradebook(root) as book:
        assert book.find_submission(NAME, "a[d]a").needs_manual_grade
    marks = points(root)
    assert marks.pop("a[d]a") == 0 and marks == {**POINTS, "eve ": 27.0, "-x 'y\"": 27.0}


@pytest.mark.parametrize("said", [b"yesterday", b"\xff\xfe", b"9" * 2000, b"2026-03-01 01:00:00 99999999999"])
def test_a_time_that_is_none_costs_nobody_else_the_mark(root, capsys, said):
    (root / "submitted" / "ada" / NAME / "timestamp.txt").write_bytes(said)
    assert graded() == 1
    assert re.search("Not graded: ada: .*timestamp.txt does not say a time", capsys.readouterr().out)
    assert {**POINTS, "ada": 0.0} == points(root)
    (root / "submitted" / "ada" / NAME / "timestamp.txt").unlink()
    assert graded() == 0 and points(root) == POINTS


def test_what_is_handed_in_while_the_class_is_graded_is_graded_as_it_is_then(root, monkeypatch):
    """Too large, then missing, then another one: when its turn comes, each is what it is."""
    work = {student: root / "submitted" / student / NAME / f"{NAME}.ipynb" for student in ANSWERS}
    right = work["ada"].read_bytes()
    with work["cleo"].open("r+b") as file:
        file.truncate(300_000_000)
    look = command.Grading._from_cache

    def meanwhile(grading, student: str) -> bool:
        work["cleo"].write_bytes(right)
        work["emil"].write_bytes(right)
        work["dora"].unlink(missing_ok=True)
        return look(grading, student)

    monkeypatch.setattr(command.Grading, "_from_cache", meanwhile)
    assert graded() == 1
    assert points(root) == {**POINTS, "cleo": 27.0, "emil": 27.0, "dora": 0.0}
    tasks(root)
    monkeypatch.setattr(command.Grading, "_from_cache", look)
    assert graded() == 1 and tasks(root) == []


def test_what_nbformat_warns_of_is_in_the_log_and_not_on_the_terminal(root):
    file = root / "submitted" / "ada" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(file.read_text())
    for cell in notebook["cells"]:
        cell["id"] = "same"
    file.write_text(json.dumps(notebook))
    command = [sys.executable, str(Path(fake_workers.__file__)), "grade", NAME]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert (run.returncode, run.stderr) == (0, "") and points(root) == POINTS
    assert "DuplicateCellId" in (root / ".course" / "graded" / NAME / "log.txt").read_text()


@pytest.mark.parametrize("claim", [["a", "list"], {"a": "dict"}])
def test_a_grade_id_that_is_no_text_is_nobody_s(root, claim):
    file = root / "submitted" / "ada" / NAME / f"{NAME}.ipynb"
    notebook = json.loads(file.read_text())
    notebook["cells"][0]["metadata"] = {"nbgrader": {"grade_id": claim}}
    file.write_text(json.dumps(notebook))
    assert graded() == 0 and points(root) == POINTS


def test_an_assignment_without_a_grade_cell_is_graded(root):
    sealed_course.release(root, "read", [new_code_cell("1 + 1", metadata=sealed_course._role("only", locked=True))])
    file = root / "submitted" / "ada" / "read" / "read.ipynb"
    file.parent.mkdir()
    shutil.copy(root / "release" / "read" / "read.ipynb", file)
    for expected in (["ada all"], []):
        assert main(["grade", "read"]) == 0
        assert tasks(root) == expected


def test_a_gradebook_at_a_relative_path(root):
    with (root / "nbgrader_config.py").open("a") as config:
        config.write('c.CourseDirectory.db_url = "sqlite:///.course/gradebook.db"\n')
    assert graded() == 0 and points(root) == POINTS


@pytest.mark.parametrize("command", ["grade", "export", "report", "collect"])
@pytest.mark.parametrize("trouble, words", [("damaged", "is damaged"), ("old", "nbgrader db upgrade"),
                                            ("locked", "is locked by another program")])
def test_a_gradebook_that_cannot_be_read_is_one_clear_message(root, monkeypatch, capsys, command, trouble, words):
    book = root / ".course" / "gradebook.db"
    monkeypatch.setattr(course, "LOCKED_SECONDS", 0.2)
    other = sqlite3.connect(book, isolation_level=None)
    if trouble == "damaged":
        book.write_bytes(b"no gradebook" * 1000)
    else:
        other.execute("begin exclusive" if trouble == "locked" else "alter table assignment drop column duedate")
    assert main([command, NAME, *["submitted"] * (command == "collect")]) == 1
    other.close()
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


@pytest.mark.parametrize("line, words", [
    ("this is (", "SyntaxError: '(' was never closed"), ("import nosuch", "No module named 'nosuch'"),
    ("c.CourseDirectory.course_id = 7", "course_id"), ("c.SealedExecute.memory = '2G'", "'memory' trait"),
    ("c.LateSubmissionPlugin.penalty_method = 'half'", "'penalty_method' trait")])
def test_settings_that_do_not_work_are_one_clear_message(root, capsys, line, words):
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"{line}\n")
    assert graded() == 1
    said = capsys.readouterr()
    assert "nbgrader_config.py does not work: " in said.err and words in said.err and said.err.count("\n") == 1


@pytest.mark.parametrize("option, value", [("--jobs", "0"), ("--jobs", "two"), ("--max-megabytes", "nan"),
                                           ("--max-megabytes", "-1")])
def test_a_number_that_is_none_is_said_in_words(root, capsys, option, value):
    with pytest.raises(SystemExit):
        graded(option, value)
    assert f"argument {option}: {value} is no number of " in capsys.readouterr().err


def test_full_disk_is_one_clear_message_and_loses_nothing(root, monkeypatch, capsys):
    calls = []

    def full(file, data):
        calls.append(file)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, data)

    write = results._write
    monkeypatch.setattr(results, "_write", full)
    assert graded() == 1
    said = capsys.readouterr().err
    assert "The disk is full" in said and "Traceback" not in said
    monkeypatch.setattr(results, "_write", write)
    first = tasks(root)
    assert graded() == 0 and points(root) == POINTS
    assert 0 < len(tasks(root)) <= len(ANSWERS) - len(first) + 1


def test_locked_gradebook_is_one_clear_message(root, monkeypatch, capsys):
    monkeypatch.setattr(course, "LOCKED_SECONDS", 0.2)
    with sqlite3.connect(root / ".course" / "gradebook.db") as other:
        other.execute("begin immediate")
        assert graded() == 1
        other.rollback()
    assert "is locked by another program" in capsys.readouterr().err
    assert graded() == 0 and points(root) == POINTS


def test_read_only_gradebook_is_one_clear_message(root):
    book = root / ".course" / "gradebook.db"
    book.chmod(0o444)
    command = [sys.executable, str(Path(fake_workers.__file__)), "grade", NAME]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root ignores permissions, and there is no setpriv to give that up")
        command = ["setpriv", "--bounding-set=-dac_override", *command]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert run.returncode == 1 and "cannot be written" in run.stderr and "Traceback" not in run.stderr
    assert tasks(root) == []


def test_no_bubblewrap_is_one_clear_message(root, monkeypatch, capsys):
    monkeypatch.setattr(command, "require", sandbox.require)
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    assert graded() == 1
    said = capsys.readouterr().err
    assert "apt-get install bubblewrap" in said and "--unsealed" in said
    assert tasks(root) == []
    assert graded("--unsealed") == 0
    assert "WITHOUT a sandbox" in capsys.readouterr().err


def test_two_graders_do_not_grade_one_assignment(root, capsys):
    with course.Course(root).lock(NAME):
        assert graded() == 1
    assert f"is being graded already, by process {os.getpid()}" in capsys.readouterr().err
    assert (root / ".course" / "graded" / NAME / "lock").exists()  # and is no obstacle now
    assert graded() == 0


# ---- killed, and started again -----------------------------------------------------------------------------


def killed(command: list[str], root: Path, when, **environment: str) -> bool:
    """Start the grader and kill it when `when` returns; whether it was still at work."""
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **environment}, start_new_session=True)
    when(process)
    at_work = process.poll() is None
    process.kill()
    process.wait()
    return at_work


def test_killed_and_started_again_no_mark_is_lost_doubled_or_changed(root):
    command = [sys.executable, str(Path(fake_workers.__file__)), "grade", NAME]
    moments = random.Random(3)
    log = root.parent / "tasks"

    def at_work(process: subprocess.Popen) -> None:
        """A random while after the first submission of this run is taken up."""
        before = log.stat().st_size
        until(lambda: log.stat().st_size > before or process.poll() is not None)
        time.sleep(moments.uniform(0.0, 1.0))

    assert [killed(command, root, at_work, FAKE_SECONDS="0.1") for _ in range(3)][0]
    assert graded() == 0
    again = rows(root)
    assert points(root) == POINTS
    assert len(again) == len(ANSWERS) * len(sealed_course.POINTS)
    assert not list(root.rglob(".unfinished-*"))
    assert graded("--force") == 0 and rows(root) == again


def sandbox_reason() -> str | None:
    try:
        sandbox.require()
    except sandbox.NoSandbox as error:
        return str(error)
    return None


for_real = [pytest.mark.slow, pytest.mark.timeout(3600),
            pytest.mark.skipif(sandbox_reason() is not None, reason=str(sandbox_reason()))]


def with_marks(*marks):
    def put(test):
        for mark in marks:
            test = mark(test)
        return test
    return put


@pytest.fixture(scope="module")
def serial(template, tmp_path_factory) -> list[tuple]:
    """The marks of the class as `nbgrader autograde` gives them, one after another."""
    root = copied(template, tmp_path_factory.mktemp("serial") / "course")
    status, said = nbgrader(root, "autograde", NAME)
    assert status == 0, said
    return rows(root)


@with_marks(*for_real)
def test_ten_kills_of_the_real_grader_change_no_mark_and_leave_nothing_behind(template, serial, tmp_path):
    root = copied(template, tmp_path / "course")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "autograder", "grade", NAME, "--jobs", "2"]
    moments = random.Random(6)

    def results_there() -> set[Path]:
        return set(root.glob(f".course/graded/{NAME}/*/{NAME}-*.json"))

    def early(process: subprocess.Popen) -> None:
        process_or(process, moments.uniform(0.5, 12.0))

    def in_the_middle(process: subprocess.Popen) -> None:
        """A random while after one more result is there, if any is missing still."""
        before = results_there()
        until(lambda: results_there() - before or process.poll() is not None)
        process_or(process, moments.uniform(0.0, 3.0))

    with nothing_left_behind():
        assert any([killed(command, root, when, TMPDIR=str(temporary)) for when in 5 * (early, in_the_middle)])
    with nothing_left_behind():
        assert subprocess.run(command, cwd=root, env={**os.environ, "TMPDIR": str(temporary)}).returncode == 0
    assert not list(temporary.iterdir())
    assert rows(root) == serial
    assert subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.startswith("0 graded, 5 graded")


@with_marks(*for_real)
@pytest.mark.parametrize("moment", ["workers start", "workers grade"])
def test_ctrl_c_is_one_line_and_leaves_nothing_behind(template, tmp_path, moment):
    root = copied(template, tmp_path / "course")
    with nothing_left_behind():
        grader = subprocess.Popen([sys.executable, "-m", "autograder", "grade", NAME, "--jobs", "2"], cwd=root,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        until(lambda: grader.poll() is not None or (
            any("spawn_main" in word for child in psutil.Process(grader.pid).children() for word in child.cmdline())
            if moment == "workers start" else list(root.glob(f".course/graded/{NAME}/*/{NAME}-*.json"))))
        os.killpg(grader.pid, signal.SIGINT)
        _, complained = grader.communicate(timeout=120)
    assert complained == "Stopped. What is graded is kept: the same command goes on from there.\n"
    assert grader.returncode == 130


def test_ctrl_c_while_packages_are_imported_is_one_line(tmp_path):
    (tmp_path / "tqdm.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    stopped = subprocess.run([sys.executable, "-m", "autograder", "grade", NAME], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
    assert (stopped.stderr, stopped.returncode) == ("Stopped.\n", 130)


@with_marks(*for_real)
def test_a_real_scheduler_loses_one_of_two_workers_and_all_are_graded(template, serial, tmp_path):
    root = copied(template, tmp_path / "course")
    where = tmp_path / "scheduler.json"
    started = []

    def dask(*arguments: str) -> subprocess.Popen:
        started.append(subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{arguments[0]}", *arguments[1:],
             "--scheduler-file", str(where)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path))
        return started[-1]

    try:
        dask("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        until(lambda: where.exists() and where.read_text().strip().endswith("}"))
        for name in ("one", "two"):
            dask("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--name", name,
                 "--local-directory", str(tmp_path / name))
        address = json.loads(where.read_text())["address"]
        grader = subprocess.Popen([sys.executable, "-m", "autograder", "grade", NAME, "--scheduler", address], cwd=root)
        until(lambda: list(root.glob(".course/graded/*/*/*.json")) or grader.poll() is not None)
        started[1].kill()
        assert grader.wait() == 0
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert rows(root) == serial


def process_or(process: subprocess.Popen, seconds: float) -> None:
    """Wait until it ends, but not longer than this."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def until(holds, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)
