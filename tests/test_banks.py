"""Every right way in the banks passes, every wrong one fails and is named as its first line says.

A bank file `tests/banks/<assignment>/<exercise>/right_*.py` or `wrong_*.py` defines the function <exercise>.
A wrong one's docstring starts with `diagnosis: key`, or with several acceptable keys, `key1 | key2`.
"""

from pathlib import Path

import pytest

from autograder.classroom.verify import accepted_keys, bank_form, bank_ruling, load

__all__ = ["accepted_keys", "load"]  # for the tests of single assignments

BANKS = Path(__file__).parent / "banks"
FILES = sorted(BANKS.glob("*/*/*.py"))
EXERCISES = sorted({file.parent for file in FILES})
AT_ONCE = {"right": 2, "wrong": 5}


def name_of(path: Path) -> str:
    return path.relative_to(BANKS).with_suffix("").as_posix()


def cases(kind: str) -> list:
    """All files of a kind; those beyond the first few of an exercise are for `make test-all`."""
    found = []
    for exercise in EXERCISES:
        for number, file in enumerate(sorted(exercise.glob(f"{kind}_*.py"))):
            marks = [pytest.mark.slow] if number >= AT_ONCE[kind] else []
            found.append(pytest.param(file, id=name_of(file), marks=marks))
    return found


@pytest.mark.parametrize("file", cases("right"))
def test_right_answer_passes(file):
    assert list(bank_ruling(file)) == []


@pytest.mark.parametrize("file", cases("wrong"))
def test_wrong_answer_fails_and_is_named(file):
    assert list(bank_ruling(file)) == [], file.read_text()


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_bank_has_many_ways_to_be_right_and_more_to_be_wrong(exercise):
    assert len(list(exercise.glob("right_*.py"))) >= 4
    assert len(list(exercise.glob("wrong_*.py"))) >= 8


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_bank_files_say_what_they_are(exercise):
    assert [f"{file.name}: {line}" for file in exercise.glob("*.py") for line in bank_form(file)] == []


def test_wrong_answers_are_different_files():
    sources = [file.read_text().split('"""')[2] for file in FILES]
    assert len(set(sources)) == len(sources)
