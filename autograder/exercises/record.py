"""What an exercise is: a contract turned into trials. A trial is numbers for each rank and what is right for them.

Trials are random but seeded: a `Draw` gives the same numbers for the same seed on every machine. The judge makes them,
in its own process; only the arguments of a rank ever reach that rank.
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch

from autograder.diagnosis import Reason
from autograder.window import UpdateWindow


@dataclass(frozen=True)
class Update:
    """How to read a returned value as an update Σ wᵢ gᵢ of this trial's items, so that a wrong one can be named."""

    window: UpdateWindow
    item_gradients: torch.Tensor
    of: Callable[[object], torch.Tensor] = lambda value: value


@dataclass(frozen=True)
class Raises:
    """What is right is an exception of this type, on every rank."""

    error: type[Exception] = ValueError
    why: str = "there is no item to average"


@dataclass(frozen=True)
class Holds:
    """What is right is any value for which `judge` finds no reason against it."""

    judge: Callable[[object], Reason | None]


@dataclass(frozen=True)
class Trial:
    """One call of the function on P ranks.

    name: the trial in words; arguments[r]: what rank r gets; expected: one value for all ranks, or a tuple with one per
    rank where `per_rank`, or Raises or Holds; update: how to read the value as an update; counts: items per rank, for
    messages; mistakes: further wrong values that have a name (reason, value); special: a case apart, such as a window
    without items: what goes wrong elsewhere, too, is told about the others.
    """

    name: str
    arguments: tuple[tuple, ...]
    expected: object
    per_rank: bool = False
    update: Update | None = None
    counts: tuple = ()
    mistakes: tuple[tuple[Reason, object], ...] = ()
    facts: dict = field(default_factory=dict)
    special: bool = False

    @property
    def world_size(self) -> int:
        return len(self.arguments)

    def expected_on(self, rank: int) -> object:
        return self.expected[rank] if self.per_rank else self.expected


@dataclass(frozen=True)
class Exercise:
    """One function that a learner writes.

    name: the function's and the exercise's name; assignment: where it belongs; ranks: whether it is called on every
    rank of a process group; trials: draws the trials, visible or (hidden=True) the further families; stage: what
    surrounds the call on a rank; rule: judges one trial, None for the general rule.
    """

    name: str
    assignment: str
    trials: Callable[[Draw, bool], list[Trial]]
    ranks: bool = True
    stage: str = "autograder.stages.call:call"
    rule: Callable | None = None
    timeout: float = 10.0


class Draw:
    """Seeded random numbers."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed % 2**63)

    def normal(self, *shape: int, mean: float = 0.0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        """Normal numbers with spread 1, drawn in float64."""
        return (torch.randn(shape, generator=self.generator, dtype=torch.float64) + mean).to(dtype)

    def integer(self, low: int, high: int) -> int:
        """One integer, low <= i <= high."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def uneven_counts(self, world_size: int, *, largest: int = 9, empty: int = 0) -> list[int]:
        """Counts per rank that differ, with `empty` ranks at 0."""
        while True:
            counts = [self.integer(1, largest) for _ in range(world_size)]
            for rank in torch.randperm(world_size, generator=self.generator).tolist()[:empty]:
                counts[rank] = 0
            if len({count for count in counts if count}) > 1 or world_size - empty < 2:
                return counts


def visible_seed(exercise: str) -> int:
    """The fixed seed of an exercise's visible trials."""
    return int.from_bytes(hashlib.sha256(f"visible/{exercise}".encode()).digest()[:7], "big")


def drawn_trials(exercise: Exercise, trials: str, seed: int) -> list[Trial]:
    """"visible": the visible trials; "all": these and the hidden families drawn from `seed`. Ordered by world size."""
    drawn = exercise.trials(Draw(visible_seed(exercise.name)), False)
    if trials == "all":
        drawn = [*drawn, *exercise.trials(Draw(seed), True)]
    return sorted(_told_apart(drawn), key=lambda trial: trial.world_size)


def _told_apart(trials: Sequence[Trial]) -> list[Trial]:
    """The trials with names of their own: random ones may be drawn under a name that is taken."""
    met: dict[str, int] = {}
    named = []
    for trial in trials:
        met[trial.name] = met.get(trial.name, 0) + 1
        again = met[trial.name]
        named.append(trial if again == 1 else replace(trial, name=f"{trial.name} ({again})"))
    return named


def counts_words(counts: Sequence[int]) -> str:
    """"2, 0 and 5"."""
    names = [str(count) for count in counts]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
