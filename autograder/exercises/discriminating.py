"""Do the layouts of an exercise tell wrong from right, and wrong from wrong? Do equal counts hide what they should?

For every trial that is about an update, the updates that the plain dial settings give are compared with the reference
and with one another, in units of the trial's tolerance. Exercises without updates are left to their banks.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import torch

from autograder.dials import RIGHT, Setting, predict_weights
from autograder.exercises.record import Exercise, Trial, drawn_trials
from autograder.exercises.rules import TOLERANCE
from autograder.exercises.training import Training, models_at
from autograder.reference import per_item_gradients
from autograder.window import UpdateWindow

WIDE = 100  # times the tolerance: clearly apart
NEAR, CLEAR = 0.1, 10  # between these a wrong setting would pass or fail by rounding
MEAN_OF_RANK_MEANS = Setting("rank", "sum", "mean")


@dataclass(frozen=True)
class Case:
    """One update of a trial: its window, the gradients of its items [N, D], the trial's relative tolerance."""

    trial: Trial
    window: UpdateWindow
    item_gradients: torch.Tensor
    tolerance: float


def findings(exercise: Exercise, seed: int = 0) -> Iterator[str]:
    """One line for each way in which the layouts of an exercise fail to discriminate."""
    visible = cases(exercise, "visible", seed)
    if visible:
        yield from too_near(visible)
        yield from near_a_bound(cases(exercise, "all", seed))
        if exercise.ranks:
            yield from unhidden(visible)


def cases(exercise: Exercise, trials: str, seed: int) -> list[Case]:
    """The updates that an exercise's trials are about; [] for an exercise without any."""
    return [case for trial in drawn_trials(exercise, trials, seed) for case in _cases_of(trial)]


def too_near(visible: Sequence[Case]) -> Iterator[str]:
    """Pairs of settings that no visible trial tells apart."""
    for one, other in combinations(settings_for(visible), 2):
        apart = max(distance(one, other, case) for case in visible)
        if not apart > WIDE:
            yield (f"no visible trial tells {one} from {other}: they are at most {apart:.2g} tolerances apart, "
                   f"{WIDE} are asked")


def near_a_bound(drawn: Sequence[Case]) -> Iterator[str]:
    """A wrong setting agrees exactly (the layout hides it) or is clearly off: never near the bound."""
    for case, setting in product(drawn, settings_for(drawn)):
        away = distance(RIGHT, setting, case)
        if not (away < NEAR or away > CLEAR):
            yield (f"in the trial {case.trial.name!r} {setting} is {away:.2g} tolerances away from right: it passes or "
                   "fails by rounding")


def unhidden(visible: Sequence[Case]) -> Iterator[str]:
    """Among the visible trials one must hide the mean of rank means (equal counts), and one must show it."""
    several = [case for case in visible if case.window.world_size > 1]
    away = [distance(RIGHT, MEAN_OF_RANK_MEANS, case) for case in several]
    if not any(distance < NEAR for distance in away):
        yield "no visible trial hides the mean of rank means: add one with equal counts"
    if not any(distance > WIDE for distance in away):
        yield "no visible trial shows the mean of rank means: add one with uneven counts"


def settings_for(cases: Sequence[Case]) -> list[Setting]:
    """The plain dials; where every rank has one microbatch the microbatch dials say nothing new."""
    several = any(max(case.window.microbatch_counts) > 1 for case in cases)
    if all(case.window.world_size == 1 for case in cases):  # the rank dial turns nothing
        return [Setting(divisor, micros, "sum") for divisor, micros in product(("nothing", "microbatch", "window"),
                                                                               ("sum", "mean"))]
    if several:
        return [Setting(*names) for names in product(("nothing", "microbatch", "rank", "window"), ("sum", "mean"),
                                                     ("sum", "mean"))]
    return [Setting(divisor, "sum", ranks) for divisor, ranks in product(("nothing", "rank", "window"),
                                                                         ("sum", "mean"))]


def distance(one: Setting, other: Setting, case: Case) -> float:
    """How far apart two settings' updates lie, in tolerances."""
    first, second = (predict_weights(setting, case.window) @ case.item_gradients for setting in (one, other))
    if not bool((first + second).isfinite().all()):
        return float("inf")  # 0/0 shows by itself
    size = float(torch.maximum(first.abs().max(), second.abs().max()))
    return float((first - second).abs().max()) / size / case.tolerance if size else 0.0


def _cases_of(trial: Trial) -> Iterator[Case]:
    if trial.update is not None:
        yield Case(trial, trial.update.window, trial.update.item_gradients, _tolerance(trial.arguments))
    elif isinstance(trial.expected, Training):
        training = trial.expected
        parameters = torch.cat([p.flatten() for model in training.models.values() for p in model["parameters"]])
        models = models_at(training.models, parameters)
        for update in [update for call in training.calls for update in call.updates]:
            yield Case(trial, update.window, per_item_gradients(models, training.item_losses, *update.batch),
                       TOLERANCE[parameters.dtype])


def _tolerance(arguments: tuple[tuple, ...]) -> float:
    tensors = [a for rank in arguments for a in rank if isinstance(a, torch.Tensor) and a.is_floating_point()]
    return TOLERANCE[tensors[0].dtype] if tensors else TOLERANCE[torch.float64]
