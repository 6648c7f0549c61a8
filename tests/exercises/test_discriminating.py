"""The layouts of all exercises tell wrong from right, and wrong from wrong; equal counts are there to hide it."""

from dataclasses import replace
from functools import cache

import pytest

from autograder.exercises import ASSIGNMENTS, exercises_of, find
from autograder.exercises import discriminating as layouts


@cache
def cases_of(name: str, kind: str, seed: int) -> list[layouts.Case]:
    """The cases of an exercise, computed once."""
    return layouts.cases(find(name), kind, seed)


UPDATING = [exercise for assignment in ASSIGNMENTS for exercise in exercises_of(assignment).values()
            if cases_of(exercise.name, "visible", 0)]


@pytest.mark.parametrize("exercise", UPDATING, ids=lambda e: e.name)
def test_any_two_settings_are_far_apart_in_some_visible_trial(exercise):
    assert not list(layouts.too_near(cases_of(exercise.name, "visible", 0)))


@pytest.mark.parametrize("exercise", UPDATING, ids=lambda e: e.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_trial_lies_near_a_bound(exercise, seed):
    """A wrong setting agrees exactly (the layout hides it) or is clearly off: never within ten times a bound."""
    assert not list(layouts.near_a_bound(cases_of(exercise.name, "all", seed)))


@pytest.mark.parametrize("exercise", [e for e in UPDATING if e.ranks], ids=lambda e: e.name)
def test_equal_counts_hide_the_mean_of_rank_means_in_a_visible_trial(exercise):
    assert not list(layouts.unhidden(cases_of(exercise.name, "visible", 0)))


def test_an_exercise_with_equal_counts_only_is_found_out():
    exercise = find("synchronized_item_mean")

    def trials(draw, hidden):
        return [trial for trial in exercise.trials(draw, hidden) if len(set(trial.counts)) == 1 < trial.world_size]

    found = list(layouts.findings(replace(exercise, trials=trials)))
    assert "no visible trial shows the mean of rank means: add one with uneven counts" in found
    assert any("no visible trial tells" in line for line in found)
    assert not list(layouts.findings(exercise))
