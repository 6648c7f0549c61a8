"""Run the trainers one after the other, each on processes of its own with a deadline, and keep what was found."""
from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module, metadata

import torch

from autograder.dials import Explanation
from autograder.probe import Measurement, ProbeData
from autograder.probe.asserts import captured
from autograder.probe.reading import measure_steps, times_seen
from autograder.survey.trainers import TRAINERS, Trainer

DEADLINE = 60.0  # seconds for one trainer


@dataclass(frozen=True)
class Update:
    """One update window: its counts[r][k], weights[r][k] of one item of each microbatch (their mean), the dials
    (divisor, microbatches, ranks) that predict them, the key and sentence, and how far the weights are off.

    expected: the weight that a token should have, 1/N. equal: whether the update is that of the mean over all
    tokens. error: max |w·N − 1|, NaN where weights cannot be told. residual: the part of the update that no weights
    explain.
    """

    counts: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[float | None, ...], ...]
    expected: float
    dials: str
    key: str | None
    sentence: str
    equal: bool
    error: float
    residual: float


@dataclass(frozen=True)
class Finding:
    """A trainer in one setting: what its updates are, or why there is none (`reason`).

    missed, repeated: sequences of the data set that no update has seen, or that were seen more than once. skipped:
    something is not installed.
    """

    trainer: str
    version: str
    setting: str
    updates: tuple[Update, ...] = ()
    missed: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()
    reason: str = ""
    skipped: bool = False
    seconds: float = 0.0

    @property
    def equal(self) -> bool:
        """Whether every update is the mean over all tokens of the data that the trainer was given."""
        return bool(self.updates) and all(update.equal for update in self.updates) and not self.missed

    def to_dict(self) -> dict:
        return asdict(self)


def survey(trainers: Sequence[Trainer] = TRAINERS, deadline: float = DEADLINE,
           tell: Callable[[Trainer], None] = lambda trainer: None) -> Iterator[Finding]:
    """One finding for each trainer, in order, as they come. `tell` hears which one begins."""
    for trainer in trainers:
        tell(trainer)
        yield measured(trainer, deadline)


def measured(trainer: Trainer, deadline: float = DEADLINE) -> Finding:
    """The finding for one trainer; never raises for what the trainer does."""
    missing = [name for name in trainer.packages if not _version(name)]
    if missing:
        return Finding(trainer.name, "", trainer.setting, skipped=True, reason=f"{' and '.join(missing)} not "
                       "installed: pip install 'global-gradient[frameworks]'")
    package = trainer.packages[0] if trainer.packages else "torch"
    version = f"{package} {_version(package)}"
    began = time.monotonic()
    try:
        updates, seen = _updates(trainer, deadline)
        missed = tuple(row for row, times in enumerate(seen) if times == 0)
        repeated = tuple(row for row, times in enumerate(seen) if times > 1)
        return Finding(trainer.name, version, trainer.setting, updates, missed, repeated,
                       seconds=time.monotonic() - began)
    except Exception as error:  # whatever a trainer does is its row, not the end of the survey
        words = " ".join(str(error).split())
        return Finding(trainer.name, version, trainer.setting, seconds=time.monotonic() - began,
                       reason=f"{type(error).__name__}: {words[:300]}")


def _updates(trainer: Trainer, deadline: float) -> tuple[tuple[Update, ...], list[int]]:
    data = ProbeData(**trainer.data)
    model = _found(trainer.model) if trainer.model else None
    ranks, reference = captured(_found(trainer.train), model=model, data=data, timeout=deadline)
    updates = measure_steps(ranks, reference, data=data, accumulation_steps=data.accumulation_steps)
    found: list[Update] = []
    for one in updates:
        found.append(_update(one, found[-1].dials if found else ""))
    return tuple(found), times_seen(ranks, data)


def _update(one: Measurement, dials_before: str) -> Update:
    """Where a small window leaves several readings, the one that fits the update before is the likely one."""
    window = one.window
    best = next((e for e in one.explanations if e.setting and _dials(e) == dials_before), one.best)
    weights = best.weights if bool(best.weights.isfinite().all()) else one.weights
    table: list[list[float | None]] = [[None] * len(row) for row in window.counts]
    for group in window.item_groups.unique().tolist():
        mine = window.item_groups == group
        first = int(mine.nonzero()[0])
        table[window.item_ranks[first]][window.item_microbatches[first]] = float(weights[mine].mean())
    return Update(
        window.counts, tuple(map(tuple, table)), float(window.expected_weights.max()), _dials(best), best.key,
        best.sentence, best.key is None, float((weights / window.expected_weights - 1).abs().max()),
        one.recovery.residual if bool(one.update.isfinite().all()) else math.nan)


def _dials(explanation: Explanation) -> str:
    setting = explanation.setting
    return f"{setting.divisor}, {setting.microbatches}, {setting.ranks}" if setting else "none"


def _found(place: str):
    module, _, name = place.partition(":")
    return getattr(import_module(f"autograder.survey.trainers.{module}"), name)


def _version(package: str) -> str:
    if package == "torch":
        return torch.__version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
