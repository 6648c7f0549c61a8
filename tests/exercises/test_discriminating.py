"""The layouts of all exercises tell wrong from right, and wrong from wrong; equal counts are there to hide it."""

from functools import cache
from itertools import combinations, product

import pytest
import torch

from autograder.dials import RIGHT, Setting, predict_weights
from autograder.exercises import ASSIGNMENTS, exercises_of, find
from autograder.exercises.record import drawn_trials
from autograder.exercises.rules import TOLERANCE
from autograder.exercises.training import Training, models_at
from autograder.reference import per_item_gradients

WIDE = 100  # times the tolerance


@cache
def cases_of(name: str, kind: str, seed: int) -> list:
    """The cases of an exercise, computed once."""
    return list(windows(drawn_trials(find(name), kind, seed)))


def windows(trials):
    """(trial, window, item gradients [N, D], tolerance) of every update that a list of trials is about."""
    for trial in trials:
        if trial.update is not None:
            yield trial, trial.update.window, trial.update.item_gradients, _tolerance(trial.arguments)
        elif isinstance(trial.expected, Training):
            training = trial.expected
            parameters = torch.cat([p.flatten() for model in training.models.values() for p in model["parameters"]])
            models = models_at(training.models, parameters)
            for update in [update for call in training.calls for update in call.updates]:
                yield (trial, update.window, per_item_gradients(models, training.item_losses, *update.batch),
                       TOLERANCE[parameters.dtype])


def _tolerance(arguments) -> float:
    tensors = [a for rank in arguments for a in rank if isinstance(a, torch.Tensor) and a.is_floating_point()]
    return TOLERANCE[tensors[0].dtype] if tensors else TOLERANCE[torch.float64]


def settings_for(cases) -> list[Setting]:
    """The plain dials; where every rank has one microbatch the microbatch dials say nothing new."""
    several = any(max(window.microbatch_counts) > 1 for _, window, _, _ in cases)
    if all(window.world_size == 1 for _, window, _, _ in cases):  # the rank dial turns nothing
        return [Setting(divisor, micros, "sum") for divisor, micros in product(("nothing", "microbatch", "window"),
                                                                               ("sum", "mean"))]
    if several:
        return [Setting(*names) for names in product(("nothing", "microbatch", "rank", "window"), ("sum", "mean"),
                                                     ("sum", "mean"))]
    return [Setting(divisor, "sum", ranks) for divisor, ranks in product(("nothing", "rank", "window"),
                                                                         ("sum", "mean"))]


def distance(one: Setting, other: Setting, case) -> float:
    """How far apart two settings' updates lie, in tolerances."""
    _, window, gradients, tolerance = case
    first, second = (predict_weights(setting, window) @ gradients for setting in (one, other))
    if not bool((first + second).isfinite().all()):
        return float("inf")  # 0/0 shows by itself
    size = float(torch.maximum(first.abs().max(), second.abs().max()))
    return float((first - second).abs().max()) / size / tolerance if size else 0.0


UPDATING = [exercise for assignment in ASSIGNMENTS for exercise in exercises_of(assignment).values()
            if any(trial.update is not None or isinstance(trial.expected, Training)
                   for trial in drawn_trials(exercise, "visible", 0))]


@pytest.mark.parametrize("exercise", UPDATING, ids=lambda e: e.name)
def test_any_two_settings_are_far_apart_in_some_visible_trial(exercise):
    cases = cases_of(exercise.name, "visible", 0)
    for one, other in combinations(settings_for(cases), 2):
        assert max(distance(one, other, case) for case in cases) > WIDE, f"{exercise.name}: {one} and {other}"


@pytest.mark.parametrize("exercise", UPDATING, ids=lambda e: e.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_trial_lies_near_a_bound(exercise, seed):
    """A wrong setting agrees exactly (the layout hides it) or is clearly off: never within ten times a bound."""
    cases = cases_of(exercise.name, "all", seed)
    for case, setting in product(cases, settings_for(cases)):
        away = distance(RIGHT, setting, case)
        assert away < 0.1 or away > 10, f"{exercise.name}, {case[0].name}: {setting} is {away:.2g} tolerances away"


@pytest.mark.parametrize("exercise", [e for e in UPDATING if e.ranks], ids=lambda e: e.name)
def test_equal_counts_hide_the_mean_of_rank_means_in_a_visible_trial(exercise):
    mistake = Setting("rank", "sum", "mean")
    cases = [case for case in cases_of(exercise.name, "visible", 0) if case[1].world_size > 1]
    assert any(distance(RIGHT, mistake, case) < 0.1 for case in cases), f"{exercise.name}: no trial hides it"
    assert any(distance(RIGHT, mistake, case) > WIDE for case in cases), f"{exercise.name}: no trial shows it"
