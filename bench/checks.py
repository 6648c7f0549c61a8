"""How long a check takes: every exercise, all its visible trials, the first right answer of its bank."""
from __future__ import annotations

import importlib.util
from pathlib import Path

from autograder import grade
from autograder.exercises import ASSIGNMENTS, exercises_of
from bench.launches import seconds

BANKS = Path(__file__).resolve().parents[1] / "tests" / "banks"


def right_answer(assignment: str, exercise: str):
    """A right function from the bank, None where there is none."""
    file = next(iter(sorted((BANKS / assignment / exercise).glob("right_*.py"))), None)
    if file is None:
        return None
    spec = importlib.util.spec_from_file_location(f"bench_{exercise}_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, exercise)


def check_seconds(repeats: int) -> list[tuple[str, str, int, float]]:
    """(assignment, exercise, visible trials, median seconds of a warm check)."""
    rows = []
    for assignment in ASSIGNMENTS:
        for exercise in exercises_of(assignment):
            function = right_answer(assignment, exercise)
            if function is not None:
                verdict = grade(exercise, function)
                assert verdict.passed, f"{exercise}: {verdict}"
                took = seconds(lambda name=exercise, fn=function: grade(name, fn), repeats)
                rows.append((assignment, exercise, verdict.trials, took))
    return rows
