"""verify finds what keeps an assignment from being handed out: one broken thing, one line that names it."""

import json
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from autograder.classroom import verify as verifying
from autograder.classroom.course import Refused
from autograder.classroom.verify import (
    RULES,
    bank_form,
    bank_ruling,
    leaks,
    marks_of,
    out_of_step,
    unearned,
    unsolved,
    verify,
)
from autograder.diagnosis import KEYS
from autograder.exercises import exercises_of

ROOT = Path(__file__).resolve().parents[2]
NAME = "item_mean"
QUESTION = "item-mean-q1-check"


def read(place: str, name: str = NAME) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / place / name / f"{name}.ipynb", as_version=4)


@pytest.fixture
def source() -> nbformat.NotebookNode:
    return read("source")


def cell(notebook, id: str) -> nbformat.NotebookNode:
    (found,) = [each for each in notebook.cells if each.id == id]
    return found


def replace(id: str, old: str, new: str):
    def change(notebook):
        broken = cell(notebook, id)
        assert old in broken.source
        broken.source = broken.source.replace(old, new)
    return change


def role(id: str, **values):
    return lambda notebook: cell(notebook, id).metadata.nbgrader.update(values)


def duplicate(notebook):
    notebook.cells.append(deepcopy(notebook.cells[0]))


def move_down(notebook):
    answer = cell(notebook, "sgd-step-answer")
    notebook.cells.remove(answer)
    notebook.cells.append(answer)


def with_output(notebook):
    cell(notebook, "sgd-step-answer").outputs = [nbformat.v4.new_output("stream", text="x")]


def fifth_option(notebook):
    cell(notebook, "item-mean-q1-text").source += "\n* **E.** None of these"
    replace(QUESTION, "    },\n)", '        "E": "One of them is.",\n    },\n)')(notebook)


# one thing that is broken -> what the one line about it says
BROKEN = {
    "old format": (lambda n: n.update(nbformat_minor=4), "not 4.5"),
    "a cell twice": (duplicate, "2 cells have the id item-mean-title"),
    "an id that says nothing": (lambda n: n.cells[0].update(id="a1b2c3"), "the id a1b2c3 does not say"),
    "a grade_id twice": (role("item-mean-setup", grade_id="sgd_step"), "2 cells have the grade_id sgd_step"),
    "an output": (with_output, "sgd-step-answer has outputs"),
    "a second visible call": (replace("sgd-step-check", "check(sgd_step)\n###", "check(sgd_step)\nprint()\n###"),
                              "2 statements"),
    "no hidden block": (replace("sgd-step-check", "### BEGIN HIDDEN TESTS", "###"), "HIDDEN TESTS block"),
    "visible trials only": (replace("sgd-step-check", ', trials="all"', ""), 'trials="all"'),
    "another function": (replace("sgd-step-check", "sgd_step", "is_equivalent"), "it checks is_equivalent"),
    "another variable": (replace(QUESTION, "item_mean_q1,", "item_mean_q2,"), "a question needs check_choice"),
    "a keyword in sight": (replace("sgd-step-check", "check(sgd_step)", "check(sgd_step, trials='visible')"),
                           "no keyword"),
    "half a point": (role("item-mean-derivation-answer", points=20.5), "20.5 points: give a whole number"),
    "no points": (role("item-mean-derivation-answer", points=0), "0 points: give a whole number"),
    "an answer elsewhere": (move_down, "is not the answer cell sgd_step_answer"),
    "an open check": (role("sgd-step-check", locked=False), "must be locked"),
    "a locked answer": (role("sgd-step-answer", locked=True), "must be locked, the answer cell above it not"),
    "an option without a reason": (replace("item-mean-q1-text", "* **A.**", "* **E.**"), "its text offers E"),
    "an option that its check refuses": (fifth_option, 'give it options="ABCDE"'),
    "no difficulty": (replace("sgd-step-text", "**Difficulty**", "Difficulty"), "does not say difficulty"),
    "no contract": (replace("sgd-step-text", "**Contract.**", "Contract."), "no **Contract.**"),
    "other points in the text": (replace("sgd-step-text", "10 points", "11 points"), "not its 10 points"),
    "two hints": (replace("sgd-step-text", "Hint 3", "Hint 4"), "three folded hints"),
    "no text": (lambda n: cell(n, "sgd-step-text").update(id="sgd-step-words"), "there is no text cell"),
    "not in the table": (replace("item-mean-title", "`sgd_step`", "a step"), "does not list it"),
    "no types": (replace("sgd-step-answer", "lr: float", "lr"), "sgd_step lacks a docstring, or types"),
}


def findings(notebook) -> list[str]:
    return [line for rule in RULES for line in rule(notebook)]


def test_nothing_is_found_where_nothing_is_broken(source):
    assert findings(source) == []
    fifth_option(source)
    replace(QUESTION, "item_mean_q1)\n###", 'item_mean_q1, options="ABCDE")\n###')(source)
    assert findings(source) == []


@pytest.mark.parametrize("story", BROKEN)
def test_one_broken_thing_is_found_and_named(source, story):
    change, words = BROKEN[story]
    change(source)
    found = findings(source)
    assert any(words in line for line in found), found


def test_a_mark_scheme_that_does_not_add_up_is_found(source):
    role("item-mean-derivation-answer", points=21)(source)
    assert any("its mark scheme adds up to 20 of 21 points" in line for line in findings(source))


# ---- the release -------------------------------------------------------------------------------------------


def test_a_leak_is_found(source):
    assert list(leaks(read("release"), source)) == list(unsolved(read("release"))) == []
    released = read("release")
    cell(released, "sgd-step-text").source += "\nreturn w.detach() - lr * gradient\n"
    cell(released, QUESTION).source = cell(source, QUESTION).source
    found = list(leaks(released, source))
    assert any("a line of the solution in sgd-step-answer: return w.detach()" in line for line in found)
    assert any("a reason of item-mean-q1-check" in line for line in found)
    assert any("'HIDDEN TESTS'" in line for line in found)
    assert any("sgd-step-answer is no stub" in line for line in unsolved(source))


def test_a_release_is_in_step_byte_by_byte(tmp_path):
    fresh, kept = tmp_path / "fresh", tmp_path / "kept"
    for folder in (fresh, kept):
        folder.mkdir()
        (folder / "a.ipynb").write_text("{}")
    assert not out_of_step(fresh, kept)
    (kept / "a.ipynb").write_text("{ }")
    assert out_of_step(fresh, kept) and out_of_step(fresh, tmp_path / "missing")


# ---- marks -------------------------------------------------------------------------------------------------


def test_a_wrong_solution_and_a_stub_that_earns_points_are_found(source):
    wanted = ("item-mean-setup", "squared-error-gradients-answer", "squared-error-gradients-check",
              "item-mean-q1-answer", QUESTION)
    source.cells = [each for each in source.cells if each.id in wanted]
    broken = deepcopy(source)
    cell(broken, "squared-error-gradients-answer").source += "\n    return targets - w.detach()"
    replace("squared-error-gradients-answer", "return w.detach() - targets", "pass")(broken)
    replace("item-mean-q1-answer", "item_mean_q1 = None", 'item_mean_q1 = "Z"')(broken)
    found = list(unearned(marks_of(broken, source), marks_of(source, source)))
    assert [line.split(":")[0] for line in found] == [
        "solution of squared_error_gradients does not pass", "solution of item_mean_q1 does not pass",
        "stub of squared_error_gradients is not worth 0 points", "stub of item_mean_q1 is not worth 0 points"]


# ---- the bank ----------------------------------------------------------------------------------------------

SIGN = '"""diagnosis: {key}\n\nA sign is lost.\n"""\n\n\ndef squared_error_gradients(w, targets):\n    return {value}\n'


def bank_file(tmp_path: Path, name: str, key: str, value: str) -> Path:
    file = tmp_path / "squared_error_gradients" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(SIGN.format(key=key, value=value))
    return file


@pytest.mark.parametrize("name, key, value, words", [
    ("wrong_none.py", "wrong-answer", "w - targets", "wrong, but it passes"),
    ("wrong_shape.py", "nan-or-inf", "(w - targets)[None]", "named wrong-shape, not nan-or-inf"),
    ("right_sign.py", "wrong-answer", "targets - w", "right, but it does not pass"),
])
def test_a_bank_file_that_is_not_what_it_says_is_found(tmp_path, name, key, value, words):
    (line,) = bank_ruling(bank_file(tmp_path, name, key, value))
    assert words in line


def test_a_bank_file_must_say_what_it_is(tmp_path):
    assert "no-such-key" not in KEYS
    for name, key, words in (("wrong_a.py", "no-such-key", "no-such-key"), ("right_a.py", "wrong-answer", "what way"),
                             ("other.py", "wrong-answer", "neither right_")):
        (line,) = bank_form(bank_file(tmp_path, name, key, "0"))
        assert words in line
    assert list(bank_form(bank_file(tmp_path, "wrong_b.py", "wrong-answer", "0"))) == []


def test_a_file_that_cannot_be_loaded_is_a_finding(tmp_path):
    (line,) = bank_ruling(bank_file(tmp_path, "right_a.py", "wrong-answer", "0 +"))
    assert "SyntaxError" in line


# ---- all of it ---------------------------------------------------------------------------------------------


def test_exercises_and_grade_cells_are_matched_both_ways(source):
    exercises = exercises_of(NAME)
    assert list(verifying._unmatched(exercises, source, NAME)) == []
    removed = {name: exercise for name, exercise in exercises.items() if name != "sgd_step"}
    assert "EXERCISES lacks sgd_step" in next(verifying._unmatched(removed, source, NAME))
    source.cells.remove(cell(source, "sgd-step-check"))
    assert "no grade cell checks the exercise sgd_step" in next(verifying._unmatched(exercises, source, NAME))


def test_without_the_source_it_says_what_to_do(tmp_path):
    with pytest.raises(Refused, match="new-exercise week_nine NAME"):
        list(verify(tmp_path, "week_nine"))


def test_a_notebook_that_is_none_is_one_finding(tmp_path):
    file = tmp_path / "source" / NAME / f"{NAME}.ipynb"
    file.parent.mkdir(parents=True)
    for text in ("no JSON", json.dumps({"cells": 3})):
        file.write_text(text)
        (line,) = verify(tmp_path, NAME)
        assert line.startswith(f"source/{NAME}/{NAME}.ipynb: no valid notebook")


@pytest.mark.parametrize("lines, status", [([], 0), (["a finding", "another"], 1)])
def test_the_exit_status_tells_whether_there_are_findings(monkeypatch, capsys, lines, status):
    monkeypatch.setattr(verifying, "verify", lambda *_, **__: iter(lines))
    assert verifying.run(SimpleNamespace(assignment=NAME, quick=False)) == status
    printed = capsys.readouterr().out.splitlines()
    assert printed[:-1] == lines and len(printed) == len(lines) + 1
