"""The exercises, one file per assignment: contract, trials, expectation, what may be named."""
from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from autograder.exercises.record import Exercise

ASSIGNMENTS = ("item_mean", "sum_or_mean", "uneven_ranks", "token_counts", "accumulation", "in_the_wild")


class UnknownExercise(LookupError):
    """There is no exercise of this name; the message names those that are near."""

    def __str__(self) -> str:
        return str(self.args[0])

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


def exercises_of(assignment: str) -> dict[str, Exercise]:
    """The exercises of an assignment by name, in its order. UnknownExercise for another name."""
    if assignment not in ASSIGNMENTS:
        raise UnknownExercise(f"There is no assignment {assignment!r}; there are {', '.join(ASSIGNMENTS)}.")
    return {exercise.name: exercise for exercise in import_module(f"{__name__}.{assignment}").EXERCISES}


def find(name: str) -> Exercise:
    """The exercise of this name. UnknownExercise for another name, with those that are near."""
    names: list[str] = []
    for assignment in ASSIGNMENTS:
        exercises = exercises_of(assignment)
        if name in exercises:
            return exercises[name]
        names += exercises
    near = get_close_matches(str(name), names, 3, 0.4)
    guess = f"Did you mean {' or '.join(near)}? " if near else ""
    raise UnknownExercise(f"There is no exercise {name!r}. {guess}Rename your function, or name the exercise: "
                          "check(fn, \"…\").")
