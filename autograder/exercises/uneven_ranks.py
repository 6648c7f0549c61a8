"""Assignment 3, `uneven_ranks`: DistributedDataParallel averages ranks; the item mean needs their counts."""
from __future__ import annotations

import torch

from autograder.exercises.record import Draw, Exercise, Raises, Trial
from autograder.exercises.training import (
    STAGE,
    ExpectedCall,
    ExpectedUpdate,
    Training,
    rule_on_training,
    squared_losses,
    training_trial,
)
from autograder.stages.models import describe_model
from autograder.window import UpdateWindow

ASSIGNMENT = "uneven_ranks"
_LR = 0.5


def _ddp_step(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, counts: list[int], dtype: torch.dtype = torch.float64, calls: int = 2) -> Trial:
        sizes = [4, 3]
        model = describe_model("layers", {"sizes": sizes}, draw.generator, dtype)
        steps, made = [], []
        for _ in range(calls):
            parts = [(draw.normal(n, sizes[0], dtype=dtype), draw.normal(n, sizes[-1], mean=r, dtype=dtype))
                     for r, n in enumerate(counts)]
            made.append([["@model", inputs, targets, "@optimizer"] for inputs, targets in parts])
            if sum(counts):
                batch = tuple(torch.cat(column) for column in zip(*parts, strict=True))
                steps.append(ExpectedCall((ExpectedUpdate(UpdateWindow.from_counts(counts), batch),)))
        error = None if sum(counts) else Raises(ValueError, "no rank has an item")
        training = Training({"model": model}, _LR, squared_losses, tuple(steps), error)
        return training_trial(name, training, made, counts=counts, warm={"model": torch.ones(2, sizes[0], dtype=dtype)})

    if hidden:
        return [trial("rank 0 empty", [0, 3, 1]), trial("four ranks, two empty", [6, 0, 0, 1]),
                trial("one item in all", [0, 1])]
    return [trial("one rank", [5]), trial("equal counts", [3, 3]), trial("two uneven ranks", [2, 6]),
            trial("an empty rank", [5, 0, 2]), trial("float32", [4, 1, 2], torch.float32),
            trial("four uneven ranks", [1, 7, 2, 4]), trial("no item at all", [0, 0], calls=1)]


EXERCISES = (Exercise("ddp_step", ASSIGNMENT, _ddp_step, stage=STAGE, rule=rule_on_training),)
