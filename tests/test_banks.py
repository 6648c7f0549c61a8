"""Every right way in the banks passes, every wrong one fails and is named as its first line says.

A bank file `tests/banks/<assignment>/<exercise>/right_*.py` or `wrong_*.py` defines the function <exercise>.
A wrong one's docstring starts with `diagnosis: key`, or with several acceptable keys, `key1 | key2`.
"""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from autograder import grade
from autograder.diagnosis import KEYS

BANKS = Path(__file__).parent / "banks"
FILES = sorted(BANKS.glob("*/*/*.py"))
EXERCISES = sorted({file.parent for file in FILES})
AT_ONCE = {"right": 2, "wrong": 5}


def name_of(path: Path) -> str:
    return path.relative_to(BANKS).with_suffix("").as_posix()


def load(file: Path):
    """The exercise's function out of a bank file, which becomes a module that no import finds."""
    name = "bank_" + name_of(file).replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return getattr(module, file.parent.name)


def cases(kind: str) -> list:
    """All files of a kind; those beyond the first few of an exercise are for `make test-all`."""
    found = []
    for exercise in EXERCISES:
        for number, file in enumerate(sorted(exercise.glob(f"{kind}_*.py"))):
            marks = [pytest.mark.slow] if number >= AT_ONCE[kind] else []
            found.append(pytest.param(file, id=name_of(file), marks=marks))
    return found


def docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text())) or ""


def accepted_keys(file: Path) -> list[str]:
    mark, _, keys = docstring(file).split("\n")[0].partition(":")
    return [key.strip() for key in keys.split("|")] if mark == "diagnosis" else []


@pytest.mark.parametrize("file", cases("right"))
def test_right_answer_passes(file):
    verdict = grade(file.parent.name, load(file), trials="all")
    assert verdict.passed and verdict.diagnosis is None and verdict.credit == 1, f"\n{verdict}"


@pytest.mark.parametrize("file", cases("wrong"))
def test_wrong_answer_fails_and_is_named(file):
    verdict = grade(file.parent.name, load(file), trials="all")
    assert not verdict.passed and verdict.credit < 1, f"passes, though: {docstring(file)}"
    assert verdict.diagnosis in accepted_keys(file), (
        f"named {verdict.diagnosis}: {docstring(file)}\n\n{verdict}"
    )
    assert verdict.message.strip() and len(verdict.message.split("\n")) <= 5


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_bank_has_many_ways_to_be_right_and_more_to_be_wrong(exercise):
    assert len(list(exercise.glob("right_*.py"))) >= 4
    assert len(list(exercise.glob("wrong_*.py"))) >= 8


@pytest.mark.parametrize("exercise", EXERCISES, ids=name_of)
def test_bank_files_say_what_they_are(exercise):
    for file in exercise.glob("*.py"):
        text, keys = docstring(file), accepted_keys(file)
        if file.name.startswith("right_"):
            assert text and not keys, f"{file.name}: say what way is taken"
        else:
            assert file.name.startswith("wrong_"), f"{file.name}: neither right_* nor wrong_*"
            assert keys and set(keys) <= set(KEYS), f"{file.name}: {set(keys) - set(KEYS)} are no known keys"
            assert len(text.strip().split("\n")) >= 3, f"{file.name}: say what mistake it is"


def test_wrong_answers_are_different_files():
    sources = [file.read_text().split('"""')[2] for file in FILES]
    assert len(set(sources)) == len(sources)
