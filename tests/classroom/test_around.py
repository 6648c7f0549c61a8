"""What instructors need around grading: bundle, export, report, uploads, a simulated class."""

import csv
import io
import json
import os
import posixpath
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

import nbformat
import pytest
import torch
from jupyter_server.extension.config import ExtensionConfigManager

sys.path.insert(0, str(Path(__file__).parent))
import sealed_course  # noqa: E402
from fake_workers import mark_by_rule  # noqa: E402
from sealed_course import NAME, RIGHT, cell, copied, submit  # noqa: E402

from autograder.__main__ import main  # noqa: E402
from autograder.classroom import bundle, collect, export, report, simulate  # noqa: E402
from autograder.classroom.config import COURSE_ID, course_secret  # noqa: E402
from autograder.classroom.course import Course, Refused  # noqa: E402
from autograder.classroom.marks import ExerciseMark, LearnerMarks, class_marks  # noqa: E402
from autograder.classroom.sealed import outcomes  # noqa: E402
from autograder.classroom.sealed.grade_cells import Choice  # noqa: E402
from autograder.exercises import ASSIGNMENTS  # noqa: E402
from autograder.notebook import judge_choice  # noqa: E402
from autograder.ranks.launch import run_on_ranks  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("around") / "course"
    root.mkdir()
    sealed_course.make(root)
    return root


@pytest.fixture
def course(released, tmp_path, monkeypatch) -> Course:
    root = copied(released, tmp_path / "course")
    monkeypatch.chdir(root)
    return Course(root)


# ---- bundle ------------------------------------------------------------------------------------------------


def test_the_course_s_own_bundle_holds_no_answer(tmp_path, monkeypatch):
    """Sought by hand here, not by the function that refuses: solutions, keys and reasons, hidden calls, the secret."""
    root = tmp_path / "course"
    for place in (*bundle.FOLDERS, *bundle.FILES, "source", "release", "nbgrader_config.py"):
        copy = shutil.copytree if (ROOT / place).is_dir() else shutil.copy
        root.mkdir(exist_ok=True)
        (root / place).parent.mkdir(exist_ok=True)
        copy(ROOT / place, root / place)
    secret = course_secret(root / ".course" / "secret").hex()
    monkeypatch.chdir(root)
    assert main(["bundle", "--to", "class.zip"]) == 0
    with zipfile.ZipFile("class.zip") as archive:
        files = {name: archive.read(name).decode("utf-8", "replace") for name in archive.namelist()}
    folders = {name.split("/")[1] for name in files}
    assert folders.isdisjoint({"source", "tests", "bench", ".course", "submitted"})
    assert {"autograder", "notebooks", "release", "nbgrader_config.py", "Makefile"} <= folders
    notebooks = {name: text for name, text in files.items() if name.endswith(".ipynb")}
    assert notebooks and not any(secret in text for text in files.values())
    for name, text in notebooks.items():
        for mark in ("SOLUTION", "HIDDEN TESTS", "Model answer", 'key=\\"', 'trials=\\"all\\"'):
            assert mark not in text, f"{mark} in {name}"
    quiz = [cell.source for file in root.glob("source/*/*.ipynb") for cell in nbformat.read(file, as_version=4).cells
            if "check_choice" in cell.source and "key=" in cell.source]
    reasons = [text for source in quiz for text in source.split('"') if len(text) > 30]
    assert len(reasons) > 20
    assert not any(reason in text for reason in reasons for text in notebooks.values())

    for name, text in files.items():
        if name.endswith((".ipynb", ".md")):
            places = {posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
                      for link in re.findall(r"\]\((?![a-z]+:|#)([\w./-]+\.(?:md|ipynb|py))[)#]", text)}
            lost = {place for place in places if not place.startswith("class/work/")} - files.keys()
            assert not lost, f"{name} links to {lost}"

    readme = files["class/README.md"]
    assert "git clone" not in readme and set(re.findall(r"\bmake (\w+)", readme)) - {"copies"} == {"env", "lab"}
    assert re.findall(r"\* `work/(\w+)/", readme) == list(ASSIGNMENTS)
    named = {path for path in re.findall(r"`((?:\w+/)+[\w.]*)`", readme) if not path.startswith("work/")}
    assert {"notebooks/", "release/"} <= named
    assert all(any(name.startswith(f"class/{path}") for name in files) for path in named), named


@pytest.mark.parametrize(("exchange", "how"), [
    (None, "upload that one file"), ("/srv/exchange", "nbgrader submit sealed")])
def test_the_bundle_says_how_to_hand_in(course, exchange, how):
    bundle.bundle(course, course.root / "class.zip", exchange=exchange)
    with zipfile.ZipFile("class.zip") as archive:
        readme = archive.read("class/README.md").decode()
    assert f"`work/{NAME}/{NAME}.ipynb`" in readme and how in readme
    assert ("Assignment List" in readme) == (exchange is not None)


@pytest.mark.parametrize("where", ["release/sealed/sealed.ipynb", "notebooks/lesson.ipynb", "LICENSE"])
def test_a_bundle_with_a_solution_in_it_is_not_made(course, where):
    solution = RIGHT["synchronized_item_mean"]
    file = course.root / where
    file.parent.mkdir(exist_ok=True)
    if file.suffix == ".ipynb":
        file = file if file.exists() else shutil.copy(course.root / "release" / NAME / f"{NAME}.ipynb", file)
        notebook = nbformat.read(file, as_version=4)
        notebook.cells[1].source += "\n" + solution
        nbformat.write(notebook, file)
    else:
        file.write_text(solution)
    with pytest.raises(Refused, match="give answers away"):
        bundle.bundle(course, course.root / "class.zip")
    assert not (course.root / "class.zip").exists()


@pytest.mark.parametrize("text", ["{secret}", sealed_course.KEYED])
def test_a_bundle_with_the_secret_or_a_quiz_key_in_it_is_not_made(course, text):
    secret = course_secret(course.root / ".course" / "secret").hex()
    (course.root / "LICENSE").write_text(text.replace("{secret}", secret))
    with pytest.raises(Refused, match="give answers away"):
        bundle.bundle(course, course.root / "class.zip")


def test_learners_of_a_class_get_no_formgrader(course):
    bundle.bundle(course, course.root / "class.zip", exchange="/srv/exchange")
    with zipfile.ZipFile("class.zip") as archive:
        archive.extractall("unpacked")
    folder = course.root / "unpacked" / "class"
    usual = {"nbgrader.server_extensions.formgrader": True, "nbgrader.server_extensions.assignment_list": True}
    elsewhere = course.root / "etc" / "jupyter_server_config.d"
    elsewhere.mkdir(parents=True)
    (elsewhere / "nbgrader.json").write_text(json.dumps({"ServerApp": {"jpserver_extensions": usual}}))
    merged = ExtensionConfigManager(read_config_path=[str(folder), str(elsewhere.parent)]).get_jpserver_extensions()
    assert merged == {**usual, "nbgrader.server_extensions.formgrader": False,
                      "nbgrader.server_extensions.course_list": False}
    panels = json.loads((folder / "labconfig" / "page_config.json").read_text())["disabledExtensions"]
    assert panels["@jupyter/nbgrader:formgrader"] is True
    assert "/srv/exchange" in (folder / "nbgrader_config.py").read_text()


# ---- export and report -------------------------------------------------------------------------------------

MOST = {"mean": 15.0, "essay": 4.0}


def learner(student: str, *, points=10.0, essay: float | None = 4.0, message="", last="", penalty=0.0) -> LearnerMarks:
    mark = ExerciseMark(points, 15.0, "wrong" if message else "right", "mean-of-rank-means" if message else "", message)
    marks = {"mean": mark, "essay": ExerciseMark(essay, 4.0)}
    return LearnerMarks(student, "Ann", last, "a@b.c", "", "2026-03-01", marks, penalty)


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_csv_keeps_commas_quotes_and_lines_in_their_columns():
    message = 'It said "no",\nand then, again'
    head, row = read(export.as_csv("a", MOST, [learner("s1", last='B, "Jr"', message=message)]))
    found = dict(zip(head, row, strict=True))
    assert found["last_name"] == 'B, "Jr"' and found["mean reason"] == message
    assert (found["total"], found["max"], found["mean"]) == ("14", "19", "10")
    assert found["mean diagnosis"] == "mean-of-rank-means"


@pytest.mark.parametrize("how", export.FORMATS.values())
def test_what_a_learner_wrote_is_no_formula(how):
    rows = read(how("a", MOST, [learner("=1+1", last="@SUM(A1)", message="=HYPERLINK(1)")]))
    assert not [field for row in rows[1:] for field in row if field.startswith(("=", "@", "+"))]


def test_canvas_has_its_columns_and_the_points_possible():
    head, possible, row = read(export.as_canvas("week 1", MOST, [learner("s1", last="Lee", penalty=4.0)]))
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "week 1"]
    assert possible[0].strip() == "Points Possible" and possible[-1] == "19"
    assert row == ["Lee, Ann", "", "", "s1", "", "10"]


def test_moodle_has_points_and_reasons():
    head, row = read(export.as_moodle("a", MOST, [learner("s1", message="First line.\nSecond.")]))
    assert head[0] == "ID number" and row[0] == "s1"
    assert row[-2:] == ["14", "mean: First line."]


def test_a_total_is_never_below_zero():
    assert learner("s", penalty=100.0).total == 0.0


def test_of_many_who_wait_ten_are_named_and_the_others_counted():
    (line,) = export._unmarked([learner(f"s{number:02}", essay=None) for number in range(12)], False)
    assert line.startswith("12 learners wait for marks by hand: s00, ") and ", s09 and 2 more. To be marked" in line


def test_report_counts_reasons_and_escapes_what_learners_wrote():
    evil = "<script>alert(1)</script>"
    learners = [learner("a", message=evil), learner("b", message="x"), learner("c"), learner("d", essay=None)]
    (first,) = report.again(learners)
    assert (first.exercise, first.diagnosis, first.students) == ("mean", "mean-of-rank-means", ("a", "b"))
    page = report.page("week <1>", MOST, learners)
    assert "2 (50%)" in page and "1 learner waits for a mark by hand" in page
    assert "<script" not in page and "&lt;script&gt;" in page


def test_report_says_what_each_diagnosis_means_unopened():
    page = report.page("a", MOST, [learner("s", message="Ranks of 1 item count as much.\nSecond line.")])
    unopened = re.sub("</summary>.*?</details>", "", page, flags=re.DOTALL)
    assert "<code>mean-of-rank-means</code> Ranks of 1 item count as much." in unopened
    assert "Second line" in page and "Second line" not in unopened


def test_report_counts_letters_and_keeps_what_each_taught_apart():
    def answered(student: str, letter: str | None) -> LearnerMarks:
        verdict = judge_choice("q1", letter, "B", {"A": "One.", "B": "Two.", "C": "Three."})
        outcome = outcomes.mark_choice(Choice("q1", "q1", "B", {"A": "", "B": "", "C": ""}), letter, "str").outcome
        marks = {"q1": ExerciseMark(2.0 * verdict.passed, 2.0, outcome, verdict.diagnosis or "", verdict.message)}
        return LearnerMarks(student, "", "", "", "", "", marks, 0.0)

    learners = [answered(str(number), letter) for number, letter in enumerate(["A", "a", "C", "B", None])]
    assert [(one.count, one.sentence) for one in report.again(learners)] == [
        (2, "A is not right. One."), (1, "C is not right. Three.")]
    page = report.page("a", {"q1": 2.0}, learners)
    assert "Chosen: 2 × A, 1 × B (right), 1 × C." in page
    assert "3 wrong, 1 right, 1 not begun." in page


def test_report_counts_a_mistake_once_that_a_later_exercise_is_built_on():
    def wrong(message: str) -> ExerciseMark:
        return ExerciseMark(0.0, 5.0, "wrong", "raised", message)

    def one(student: str, **marks: ExerciseMark) -> LearnerMarks:
        return LearnerMarks(student, "", "", "", "", "", marks, 0.0)

    right, lost = ExerciseMark(5.0, 5.0, "right"), wrong("The process was lost in cell 4.")
    learners = [one("a", z=lost, b=lost, c=lost), one("b", z=right, b=wrong("An index."), c=right),
                one("c", z=right, b=right, c=wrong("A key."))]
    assert [(each.exercise, each.count, each.message) for each in report.again(learners)] == [
        ("z", 1, lost.message), ("b", 1, "An index."), ("c", 1, "A key.")]
    page = report.page("a", dict.fromkeys("zbc", 5.0), learners)
    assert page.count("1 was told the same in an earlier exercise.") == 2
    shares = re.findall(r'<a href="#(\w)">\w</a></td><td class="n">([^<]*)</td>', page)
    assert shares == [("z", "2 (67%)"), ("b", "1 (33%)"), ("c", "1 (33%)")]


def test_report_shows_points_before_penalties():
    page = report.page("a", MOST, [learner("s", penalty=19.0), learner("t", points=5.0, essay=2.0)])
    assert "Median 10.5 of 19 points, lowest 7, highest 14, before late penalties (1 learner with one)." in page


# ---- submissions that could not be graded ------------------------------------------------------------------


@pytest.fixture
def mixed(course, monkeypatch, tmp_path) -> Course:
    """A class with one submission that can be graded and three that cannot, after grading."""
    mark_by_rule(monkeypatch, tmp_path / "tasks")
    released = nbformat.read(course.root / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    submit(course.root, released, "ada", RIGHT)
    submit(course.root, released, "garbage", {}).write_text("nothing but words")
    submit(course.root, released, "empty", {}).unlink()
    file = submit(course.root, released, "renamed", RIGHT)
    file.rename(file.with_name("other.ipynb"))
    assert main(["grade", NAME]) == 1
    return course


REASONS = {"garbage": "sealed.ipynb is no notebook that can be read", "empty": "holds no notebook",
           "renamed": "holds no sealed.ipynb, but other.ipynb"}


def test_what_could_not_be_graded_has_an_empty_mark_and_the_reason(mixed, capsys):
    assert main(["export", NAME]) == 0
    said = capsys.readouterr().out
    with open(f"grades-{NAME}-csv.csv", newline="") as file:
        found = {row["student_id"]: row for row in csv.DictReader(file)}
    assert found["ada"]["total"] == "27" and set(found) == {"ada", *REASONS}
    for student, words in REASONS.items():
        row = found[student]
        assert (row["total"], row["needs_manual_grade"]) == ("", "no")
        for name in sealed_course.POINTS:
            assert (row[name], row[f"{name} outcome"]) == ("", "not graded") and words in row[f"{name} reason"]
        assert f"Not graded: {student}: " in said


@pytest.mark.parametrize("form, column", [("canvas", 3), ("moodle", 0)])
def test_what_could_not_be_graded_is_no_zero_in_an_lms(mixed, form, column):
    assert main(["export", NAME, "--format", form, "--unfinished"]) == 0
    with open(f"grades-{NAME}-{form}.csv", newline="") as file:
        assert {row[column] for row in csv.reader(file)}.isdisjoint(REASONS)


def test_report_lists_apart_what_could_not_be_graded(mixed, capsys):
    assert main(["report", NAME]) == 0
    assert "1 learner." in capsys.readouterr().out
    page = (mixed.root / f"report-{NAME}.html").read_text()
    numbers, apart = page.split("<h2 id=")
    assert "1 learner<" in numbers and "Median 27 of 31 points, lowest 27, highest 27." in numbers
    assert "3 more submissions could not be" in numbers and "by hand" not in numbers.partition("Exercise by")[0]
    for student, words in REASONS.items():
        assert f"{student}: " in apart and words in apart and student not in numbers


def test_a_class_of_which_nothing_could_be_graded_is_reported(mixed):
    everybody = [one for one in class_marks(mixed, NAME)[1] if one.not_graded]
    page = report.page(NAME, sealed_course.POINTS, everybody)
    assert len(everybody) == 3 and "3 more submissions could not be" in page


def test_what_is_handed_in_again_has_a_mark_again(mixed):
    folder = mixed.root / "submitted" / "renamed" / NAME
    (folder / "other.ipynb").rename(folder / f"{NAME}.ipynb")
    assert main(["grade", NAME, "--student", "renamed"]) == 0
    marks = {one.student: one for one in class_marks(mixed, NAME)[1]}
    assert (marks["renamed"].total, marks["renamed"].not_graded) == (27.0, "") and marks["empty"].not_graded


def test_marks_of_an_earlier_submission_are_not_those_of_one_that_cannot_be_graded(mixed, capsys):
    file = mixed.folder("submitted", "ada", NAME) / f"{NAME}.ipynb"
    graded = mixed.folder("autograded", "ada", NAME) / f"{NAME}.ipynb"
    right = file.read_text()
    file.write_text("nothing but words")
    assert main(["grade", NAME, "--student", "ada"]) == 1
    (ada,) = [one for one in class_marks(mixed, NAME)[1] if one.student == "ada"]
    assert ada.exercises["synchronized_item_mean"].points is None
    assert "no notebook that can be read" in ada.not_graded and "stay in the gradebook" in ada.not_graded
    with mixed.gradebook() as book:
        assert book.find_submission(NAME, "ada").score == 27.0

    os.utime(graded)  # what another command graded meanwhile counts
    assert [one.total for one in class_marks(mixed, NAME)[1] if one.student == "ada"] == [27.0]
    file.write_text(right)
    assert main(["grade", NAME, "--student", "ada"]) == 0
    assert [one.not_graded for one in class_marks(mixed, NAME)[1] if one.student == "ada"] == [""]


def test_nothing_is_exported_while_all_wait_and_it_is_said_for_what(mixed, capsys):
    with mixed.gradebook() as book:
        book.find_grade("essay", NAME, NAME, "ada").needs_manual_grade = True
        book.db.commit()
    assert main(["export", NAME, "--format", "canvas"]) == 1
    said = capsys.readouterr()
    assert "1 learner waits for marks by hand: ada. To be marked in formgrader: the written answer essay." in said.err
    assert "--unfinished" in said.err and not said.out and not Path(f"grades-{NAME}-canvas.csv").exists()
    assert main(["export", NAME, "--format", "canvas", "--unfinished"]) == 0


def test_a_mark_by_hand_counts_after_a_regrade_and_is_asked_for_once_more(mixed, capsys):
    with mixed.gradebook() as book:
        for name, points in (("is_equivalent", 1.5), ("essay", 3.0)):
            book.find_grade(name, NAME, NAME, "ada").manual_score = points
        book.db.commit()
    assert main(["grade", NAME, "--student", "ada", "--force"]) == 0
    capsys.readouterr()
    assert main(["export", NAME, "--format", "canvas", "--unfinished"]) == 0
    assert ("To be marked in formgrader: is_equivalent (graded again since it was marked by hand), the written answer "
            "essay (graded again since it was marked by hand).") in capsys.readouterr().out
    (ada,) = [one for one in class_marks(mixed, NAME)[1] if one.student == "ada"]
    with mixed.gradebook() as book:
        assert ada.waits and ada.total == 27.0 - 10.0 + 1.5 + 3.0 == book.find_submission(NAME, "ada").score
    assert main(["report", NAME]) == 0


@pytest.mark.parametrize("command", [["export", NAME], ["report", NAME], ["bundle"]])
def test_a_place_that_cannot_be_written_is_one_clear_message(mixed, capsys, command):
    capsys.readouterr()
    assert main([*command, "--to", "/nonexistent/x"]) == 1
    said = capsys.readouterr()
    assert said.err == "/nonexistent/x cannot be written: No such file or directory.\n" and not said.out


def test_what_names_learners_by_default_is_kept_out_of_git():
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no clone")
    names = ["grades-item_mean-csv.csv", "report-item_mean.html", f"{COURSE_ID}.zip", "uploads.zip"]
    ignored = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, capture_output=True, text=True)
    assert ignored.stdout.split() == names


def test_a_notebook_that_was_not_handed_in_is_no_mark_by_hand(course, monkeypatch, tmp_path):
    mark_by_rule(monkeypatch, tmp_path / "tasks")
    with course.gradebook() as book:
        book.update_or_create_notebook("other", NAME)
        book.update_or_create_grade_cell("more", "other", NAME, max_score=2, cell_type="code")
        book.update_or_create_source_cell("more", "other", NAME, cell_type="code", locked=True,
                                          source='check_choice("more", more)')
    submit(course.root, nbformat.read(course.root / "release" / NAME / f"{NAME}.ipynb", as_version=4), "ada", RIGHT)
    assert main(["grade", NAME]) == 0
    most, (ada,) = class_marks(course, NAME)
    more = ada.exercises["more"]
    assert (more.points, more.outcome, ada.exercises["is_equivalent"].outcome) == (0.0, "not handed in", "right")
    assert "1 not handed in." in report.page(NAME, most, [ada])


# ---- uploads -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path, student", [
    ("doejane_123_456_item_mean.ipynb", "doejane"),
    ("doejane_LATE_123_456_item_mean-2.ipynb", "doejane"),
    ("Jane Doe_99_assignsubmission_file_/Untitled.ipynb", "Jane Doe"),
    ("Jane Doe_99_assignsubmission_file/deep/er.ipynb", "Jane Doe"),
    ("s17/item_mean.ipynb", "s17"),
    ("item_mean.ipynb", None),
])
def test_whose_an_upload_is(path, student):
    assert collect.student_of(PurePosixPath(path)) == student


def test_renamed_uploads_without_a_secret_are_taken_in(course, capsys):
    notebook = (course.root / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    with zipfile.ZipFile("uploads.zip", "w") as archive:
        for path, content, day in (
                ("doejane_1_2_my work.ipynb", b"{}", 1), ("doejane_1_3_my work (2).ipynb", notebook, 3),
                ("doejane_1_4_older.ipynb", notebook + b"\n", 2), ("x_1_2_a.ipynb", notebook, 1),
                ("loose.ipynb", notebook, 1)):
            archive.writestr(zipfile.ZipInfo(path, (2026, 3, day, 12, 0, 0)), content)
    assert main(["collect", NAME, "uploads.zip"]) == 1
    said = capsys.readouterr()
    assert "2 notebooks" in said.out and "my work.ipynb: it is no notebook of sealed" in said.err
    assert "loose.ipynb: its path does not say whose" in said.err
    assert "1_4_older.ipynb: doejane_1_3_my work (2).ipynb of the same learner counts" in said.err
    assert "Nothing is taken" not in said.err
    folder = course.root / "submitted" / "doejane" / NAME
    assert (folder / f"{NAME}.ipynb").read_bytes() == notebook  # the newest
    assert course.folders.get_existing_timestamp(str(folder)) == datetime(2026, 3, 3, 12)
    assert (folder / "submission_secret.txt").read_text()
    assert course.students(NAME) == ["doejane", "x"]
    assert sorted(path.name for path in (course.root / "submitted").iterdir()) == ["doejane", "x"]


@pytest.mark.parametrize("path", ["../evil_1_2_a.ipynb", "..\\evil_1_2_a.ipynb", "a/../evil_1_2_a.ipynb",
                                  "..\\evil/a.ipynb", "/evil_1_2_a.ipynb", "../evil_1_2_a.pdf"])
def test_an_upload_that_leads_out_of_the_archive_is_refused(course, capsys, path):
    notebook = (course.root / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    with zipfile.ZipFile("uploads.zip", "w") as archive:
        archive.writestr(path, notebook)
        archive.writestr("ada_1_2_a.ipynb", notebook)
    assert main(["collect", NAME, "uploads.zip"]) == 1
    assert f"Not taken: {path}: its path leads out of the archive" in capsys.readouterr().err
    assert course.students(NAME) == ["ada"]


@pytest.mark.parametrize("zipped", [True, False])
def test_every_upload_that_is_no_notebook_is_named_and_whose_it_is(course, capsys, zipped):
    notebook = (course.root / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    files = {"ada/a.ipynb": notebook, "ada/notes.txt": b"", "ben_1_2_work.pdf": b"%PDF", "cleo/a.ipynb": b"%PDF",
             "ada/.ipynb_checkpoints/a.ipynb": notebook, "ada/.DS_Store": b"", "ada/timestamp.txt": b""}
    for path, content in files.items():
        file = Path("uploads", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    uploads = shutil.make_archive("uploads", "zip", "uploads") if zipped else "uploads"
    assert main(["collect", NAME, uploads]) == 1
    said = capsys.readouterr()
    assert "1 notebook of" in said.out and said.err.splitlines() == [
        "Not taken: ada/notes.txt: it is no notebook (.ipynb)",
        "Not taken: ben_1_2_work.pdf: it is no notebook (.ipynb)",
        f"Not taken: cleo/a.ipynb: it is no notebook of {NAME}",
        "Nothing is taken from 2 learners: ben, cleo."]


@pytest.mark.parametrize("more, words", [
    (["uploads", "--pattern", "(foo"], "--pattern '(foo' is no regular expression: missing )"),
    (["uploads", "--pattern", "(foo)"], "needs a group (?P<student>…)"),
    (["README.md"], "README.md is no folder and no zip file"),
    (["nowhere"], "no zip file nowhere"),
    (["uploads", "--names", "names.csv"], "--names names.csv cannot be read: No such file or directory"),
])
def test_what_collect_cannot_use_is_named_in_one_line(course, capsys, more, words):
    Path("README.md").write_text("words")
    shutil.copytree(course.root / "release" / NAME, "uploads/ada")
    assert main(["collect", NAME, *more]) == 1
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_a_damaged_upload_is_named_and_the_others_are_taken_in(course, capsys):
    notebook = (course.root / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    with zipfile.ZipFile("uploads.zip", "w") as archive:
        archive.writestr("ada_1_2_a.ipynb", b"x" * 100)
        archive.writestr("ben_1_2_a.ipynb", notebook)
    Path("uploads.zip").write_bytes(Path("uploads.zip").read_bytes().replace(b"x" * 100, b"y" * 100))
    assert main(["collect", NAME, "uploads.zip"]) == 1
    assert "Not taken: ada_1_2_a.ipynb: it cannot be read (Bad CRC" in capsys.readouterr().err
    assert course.students(NAME) == ["ben"]


def test_no_upload_stops_those_after_it(course, capsys):
    """Brackets without end in a notebook's place, a name that is too long for a folder, one with spaces around it."""
    file = course.root / "release" / NAME / f"{NAME}.ipynb"
    with zipfile.ZipFile("uploads.zip", "w") as archive:
        archive.writestr("deep_1_2_x.ipynb", "[" * 200_000)
        archive.write(file, f"{'l' * 300}_1_2_x.ipynb")
        archive.write(file, "amy _1_2_x.ipynb")
        archive.write(file, "zoe_1_2_x.ipynb")
    assert main(["collect", NAME, "uploads.zip"]) == 1
    said = capsys.readouterr()
    assert "2 notebooks of sealed taken" in said.out and set(course.students(NAME)) == {"amy", "zoe"}
    assert "deep_1_2_x.ipynb: it is no notebook of sealed" in said.err
    assert "its path does not say whose it is" in said.err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_an_upload_in_another_encoding_can_be_graded(course, encoding):
    notebook = (course.root / "release" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
    Path("uploads/ada").mkdir(parents=True)
    Path("uploads/ada/a.ipynb").write_bytes(notebook.encode(encoding))
    assert main(["collect", NAME, "uploads"]) == 0
    assert (course.root / "submitted" / "ada" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8") == notebook


def test_an_older_upload_does_not_replace_a_newer_submission(course):
    notebook = (course.root / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    folder = course.root / "submitted" / "s1" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_text("newer")
    (folder / "timestamp.txt").write_text("2026-05-01 00:00:00 UTC")
    upload = collect.Upload(PurePosixPath("s1/a.ipynb"), notebook, datetime(2026, 4, 1, tzinfo=timezone.utc))
    assert collect._put(course, NAME, "s1", NAME, upload) is None
    assert (folder / f"{NAME}.ipynb").read_text() == "newer"


def test_an_older_upload_is_no_trouble_but_is_named(course, capsys):
    with zipfile.ZipFile("uploads.zip", "w") as archive:
        notebook = (course.root / "release" / NAME / f"{NAME}.ipynb").read_bytes()
        archive.writestr(zipfile.ZipInfo("s1_1_2_a.ipynb", (2026, 4, 1, 0, 0, 0)), notebook)
    assert main(["collect", NAME, "uploads.zip"]) == 0
    (course.root / "submitted" / "s1" / NAME / "timestamp.txt").write_text("2026-05-01 00:00:00 UTC")
    assert main(["collect", NAME, "uploads.zip"]) == 0
    assert capsys.readouterr().err == "Not taken: s1_1_2_a.ipynb: the submission that is there is newer\n"


# ---- a simulated class -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def material() -> simulate.Material:
    return simulate.Material(ROOT, "item_mean")


@pytest.mark.parametrize("file", sorted((ROOT / "tests/banks/item_mean/squared_error_gradients").glob("right_*.py")),
                         ids=lambda file: file.stem)
def test_a_right_learner_loses_no_points_where_one_answer_builds_on_another(file):
    answer = runpy.run_path(str(file))["squared_error_gradients"]
    (on_an_empty_rank,) = run_on_ranks(answer, [(torch.tensor(10.0), torch.zeros(0))], world_size=1)  # as sgd_step asks
    assert on_an_empty_rank.shape == (0,)


def test_a_simulated_class_has_all_kinds_and_every_misconception(material):
    found = list(simulate.submissions(material, 600))
    assert len({one.student for one in found}) == 600
    named = Counter(key for one in found for keys in one.diagnoses.values() for key in keys)
    files = [file for name in material.exercises for file in material.bank(name, "wrong")]
    banks = {key for file in files for key in simulate.diagnoses(file)}
    assert banks <= set(named)
    stories = " ".join(one.story for one in found)
    assert all(kind in stories for kind in ("right", "untouched", "hostile", *simulate.BROKEN))
    assert found == list(simulate.submissions(material, 600)) != list(simulate.submissions(material, 600, seed=1))


@pytest.mark.parametrize("seed", range(5))
def test_a_small_simulated_class_has_every_kind_and_a_large_one_the_shares(material, seed):
    small, large = (list(simulate.submissions(material, size, seed)) for size in (8, 600))
    assert {one.kind for one in small} == set(simulate.KINDS)
    counts = Counter(one.kind for one in large)
    assert all(abs(counts[kind] - 6 * share) <= 1 for kind, share in simulate.KINDS.items())
    assert all((one.kind == "right") == (one.story == "right") for one in large)
    assert not any(set(one.answers) & set(material.questions) for one in large if one.kind == "right")


def test_a_simulated_submission_is_the_released_notebook_with_answers(material):
    for one in simulate.submissions(material, 40):
        notebook = material.notebook(one)
        assert [cell.source for cell in material.released.cells if cell.metadata.get("nbgrader", {}).get("locked")] == [
            cell.source for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("locked")]
        for name, answer in one.answers.items():
            assert cell(notebook, f"{name}_answer").source == answer


@pytest.mark.parametrize("more, words", [(["--students", "0"], "at least one learner"),
                                         (["--into", "LICENSE"], "LICENSE cannot be written")])
def test_what_simulate_cannot_do_is_one_line(monkeypatch, capsys, more, words):
    monkeypatch.chdir(ROOT)
    assert main(["simulate", "item_mean", *more]) == 1
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_simulate_writes_where_collecting_would(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["simulate", "--students", "3", "--into", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("1 right, 1 misconception, 1 unfinished, 0 broken, 0 hostile: ")
    assert sorted(path.name for path in tmp_path.glob("sim-0*/item_mean")) == ["item_mean"] * 3
    assert set(json.loads((tmp_path / "sim-stories-item_mean.json").read_text())) == {f"sim-000{i}" for i in (1, 2, 3)}
    monkeypatch.chdir(tmp_path)
    assert main(["simulate"]) == 1
    assert "run this in a clone" in capsys.readouterr().err
