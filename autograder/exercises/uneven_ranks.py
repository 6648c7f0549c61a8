"""Assignment 3, `uneven_ranks`: DistributedDataParallel averages ranks; the item mean needs their counts.

A rank's factor, its loss, its sample weights, a hook on its gradients, its part in a loop that others continue: five
places for the same rule, weight 1/N (or wᵢ/W) for every item, whoever holds it (lesson 3).
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from autograder import dials
from autograder.diagnosis import Reason
from autograder.exercises.record import Draw, Exercise, Raises, Trial
from autograder.exercises.rules import reasons_of, rule_on
from autograder.exercises.training import (
    STAGE,
    ExpectedCall,
    ExpectedUpdate,
    OtherItems,
    Training,
    rule_on_training,
    squared_losses,
    taken_again,
    training_trial,
)
from autograder.ranks import wire
from autograder.ranks.report import RankOutcome, ranks_words, sentence
from autograder.stages.models import describe_model
from autograder.window import UpdateWindow

ASSIGNMENT = "uneven_ranks"
SIZES = (4, 3)
ONE_BUCKET = (3, 6, 3)
SEVERAL_BUCKETS = (3, 150, 900, 3)  # the middle layer alone exceeds DDP's first bucket of 1 MiB in float64
WORKED_TARGETS = ([9.0, 9.0], [7.0] * 6)
WORKED_W, WORKED_LR = 10.0, 0.1
_LR = 0.5
_WIDE_LR = 2.0**-10
_MANY_ITEMS = 1000
_NO_ITEM = "no rank has an item (N = 0)"


# ---- ddp_scale

def _ddp_scale(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, counts: Sequence[int]) -> Trial:
        arguments, total = tuple((count,) for count in counts), sum(counts)
        if not total:
            return Trial(name, arguments, Raises(ValueError, _NO_ITEM), counts=tuple(counts))
        return Trial(name, arguments, tuple(len(counts) * count / total for count in counts), per_rank=True,
                     counts=tuple(counts))

    if hidden:
        return [trial("rank 0 empty", [0, *draw.uneven_counts(3)]),
                trial("all items on one of four ranks", [0, 0, draw.integer(2, 9), 0]),
                trial("one item in all", [0, 1]),
                trial("eight uneven ranks", draw.uneven_counts(8, largest=90, empty=2)),
                trial("more items than a 32-bit integer counts", [3 * 2**31, draw.integer(1, 5) * 2**30, 2**31]),
                trial("eight ranks without an item", [0] * 8)]
    return [trial("one rank", [4]), trial("equal counts", [3, 3]), trial("the worked example", [2, 6]),
            trial("an empty rank", [5, 0, 2]), trial("four uneven ranks", [1, 7, 2, 4]),
            trial("eight ranks, one empty", [3, 1, 0, 6, 2, 9, 1, 4]), trial("no item at all", [0, 0])]


def rule_on_scales(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The general rule, and a name for wrong factors: with factor s_r on its local mean and a mean over ranks, an item
    of rank r weighs s_r/(P·n_r)."""
    reasons = rule_on(trial, outcomes)
    if not reasons or reasons[-1].key != "wrong-answer":
        return reasons
    scales = [wire.decode(outcome.result)["value"] for outcome in outcomes]
    held = [(scale, n) for scale, n in zip(scales, trial.counts, strict=True) if n]
    if sum(trial.counts) > _MANY_ITEMS or any(scale != scale for scale, _ in held):
        return reasons
    weights = torch.tensor([scale / (trial.world_size * n) for scale, n in held for _ in range(n)], dtype=torch.float64)
    window = UpdateWindow.from_counts(trial.counts)
    told = f"{reasons[-1].sentence} As a factor on local means, before a mean over ranks:"
    named = reasons_of(dials.explain_weights(weights, window, 1e-5), window)
    return [*(replace(reason, sentence=f"{told}\n{reason.sentence}") for reason in named), *reasons]


# ---- ddp_step

def _batch(draw: Draw, count: int, rank: int, sizes: Sequence[int], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Items of one rank, whose targets lie elsewhere than those of other ranks: no weight hides."""
    return draw.normal(count, sizes[0], dtype=dtype), draw.normal(count, sizes[-1], mean=rank, dtype=dtype)


def _joined(parts: Sequence[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(torch.cat(column) for column in zip(*parts, strict=True))


def _by_rank(windows: Sequence[Sequence[int]]) -> tuple:
    """The counts of each call, windows[c][r], as messages show them: by rank, and where calls differ by call."""
    return tuple(windows[0]) if len(set(map(tuple, windows))) == 1 else tuple(zip(*windows, strict=True))


def _rows_of_zeros(counts: Sequence[int], parts: Sequence[tuple[Tensor, Tensor]]) -> tuple[OtherItems, ...]:
    """The items of a step in which each empty rank put a row of zeros through the model and let it count."""
    empty = [rank for rank, count in enumerate(counts) if not count]
    if not empty:
        return ()
    taken = [part if count else tuple(column.new_zeros(1, *column.shape[1:]) for column in part)
             for count, part in zip(counts, parts, strict=True)]
    return (OtherItems("padding-counted", f"{sentence(ranks_words(empty))} had no item and put a row of zeros through "
                       "the model, which is in the update.\nSuch a row must weigh 0: biases have a gradient for it.",
                       UpdateWindow.from_counts([max(count, 1) for count in counts]), _joined(taken)),)


def _warm(sizes: Sequence[int], dtype: torch.dtype) -> dict[str, Tensor]:
    return {"model": torch.ones(2, sizes[0], dtype=dtype)}


def _ddp_step(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *windows: Sequence[int], dtype: torch.dtype = torch.float64) -> Trial:
        """Each window, the counts of the ranks, is one call with the same model."""
        model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
        parts = [[_batch(draw, n, rank, SIZES, dtype) for rank, n in enumerate(counts)] for counts in windows]
        return _step_trial(name, model, _LR, windows, parts)

    if hidden:
        return [trial("a single rank, many items", [40], [1]),
                trial("rank 0 empty", [3, 1], [0, 4]),
                trial("one item in all", [1, 2], [1, 0]),
                trial("three ranks, two empty", draw.uneven_counts(3), [0, 0, 4]),
                trial("three ranks without an item", [0, 0, 0]),
                trial("float32, an empty rank", draw.uneven_counts(3), [2, 5, 0], dtype=torch.float32),
                trial("four ranks, two empty", [6, 0, 0, 1], draw.uneven_counts(4, largest=20))]
    return [trial("one rank", [5], [3]), trial("equal counts", [3, 3], [4, 4]), _worked_example(),
            trial("two ranks, one of them empty in the second call", [2, 5], [4, 0]),
            trial("no item at all", [0, 0]),
            trial("an empty rank", [5, 0, 2], [1, 3, 4]),
            trial("float32", [4, 1, 2], [1, 6, 2], dtype=torch.float32),
            trial("four uneven ranks", [1, 7, 2, 4], [3, 1, 0, 5])]


def _step_trial(name: str, model: dict, lr: float, windows: Sequence[Sequence[int]],
                parts: Sequence[Sequence[tuple[Tensor, Tensor]]]) -> Trial:
    calls = [[["@model", *part, "@optimizer"] for part in ranks] for ranks in parts]
    expected = tuple(ExpectedCall((ExpectedUpdate(UpdateWindow.from_counts(counts), _joined(ranks),
                                                  mistaken=_rows_of_zeros(counts, ranks)),))
                     for counts, ranks in zip(windows, parts, strict=True) if sum(counts))
    error = None if expected else Raises(ValueError, _NO_ITEM)
    training = Training({"model": model}, lr, squared_losses, expected, error)
    return training_trial(name, training, calls, counts=_by_rank(windows),
                          warm=_warm(model["options"]["sizes"], model["parameters"][0].dtype))


def _worked_example() -> Trial:
    """ŷ = w·1 + b with w = 10 and b = 0: both get the gradient 2.5, and a step of 0.1 leads to w = 9.75."""
    model = {"kind": "layers", "options": {"sizes": [1, 1]},
             "parameters": [torch.tensor([[WORKED_W]], dtype=torch.float64), torch.zeros(1, dtype=torch.float64)]}
    parts = [tuple(torch.tensor(column, dtype=torch.float64)[:, None] for column in ([1.0] * len(targets), targets))
             for targets in WORKED_TARGETS]
    counts = [len(targets) for targets in WORKED_TARGETS]
    return _step_trial("the worked example", model, WORKED_LR, [counts, counts], [parts, parts])


# ---- weighted_step

def _weighted_step(draw: Draw, hidden: bool) -> list[Trial]:
    def weights(counts: Sequence[int], total: float = 0.0) -> list[Tensor]:
        """Positive weights between 0.2 and 5; with `total`, such that all ranks' sum to it."""
        drawn = [0.2 + 4.8 * torch.rand(n, generator=draw.generator, dtype=torch.float64) for n in counts]
        size = float(torch.cat(drawn).sum())
        return [w * (total / size) if total else w for w in drawn]

    def trial(name: str, *windows: list[Tensor], dtype: torch.dtype = torch.float64) -> Trial:
        """Each window, the sample weights of the ranks, is one call with the same model."""
        model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
        calls, expected = [], []
        for given in windows:
            given = [w.to(dtype) for w in given]
            counts = [len(w) for w in given]
            parts = [_batch(draw, n, rank, SIZES, dtype) for rank, n in enumerate(counts)]
            calls.append([["@model", *part, w, "@optimizer"] for part, w in zip(parts, given, strict=True)])
            if torch.cat(given).sum() > 0:
                window = UpdateWindow.from_counts(counts, sample_weights=[w.double().tolist() for w in given])
                expected.append(ExpectedCall((ExpectedUpdate(window, _joined(parts),
                                                             alternatives=partial(_shares_of_items, window)),)))
        error = None if expected else Raises(ValueError, "the sample weights of all ranks sum to 0 (W = 0)")
        training = Training({"model": model}, _LR, squared_losses, tuple(expected), error)
        return training_trial(name, training, calls, counts=_by_rank([[len(w) for w in given] for given in windows]),
                              warm=_warm(SIZES, dtype))

    ones, zeros = (lambda n: torch.ones(n, dtype=torch.float64)), (lambda n: torch.zeros(n, dtype=torch.float64))
    if hidden:
        two, three = weights([3, 4]), weights([2, 4, 1])
        return [trial("a single rank, weights below 1 in all", weights([4], 0.3), weights([2], 0.01)),
                trial("weights above 1000", [1e3 * w for w in weights([4, 1])], weights([2, 2])),
                trial("half of the weights 0", [torch.cat([two[0], zeros(2)]), torch.cat([zeros(1), two[1]])],
                      [two[0], zeros(3)]),
                trial("two of three ranks without weight", three, [zeros(2), three[1], zeros(0)]),
                trial("three ranks, all weights 0", [zeros(2), zeros(0), zeros(1)]),
                trial("float32, weights below 1 in all", weights([2, 5, 1], 0.4), weights([3, 0, 2], 0.05),
                      dtype=torch.float32),
                trial("no item at all", [zeros(0)] * 4),
                trial("four ranks, two empty", weights([6, 0, 0, 2]), weights(draw.uneven_counts(4)))]
    three, four = weights([3, 2, 4]), weights([1, 5, 2, 3])
    return [trial("one rank", weights([5]), weights([3])),
            trial("equal counts, all weights 1", [ones(3), ones(3)], [ones(4), ones(4)]),
            trial("two uneven ranks", weights([2, 6]), weights([4, 1])),
            trial("weights that sum to less than 1", weights([3, 2], 0.5), weights([1, 4], 0.125)),
            trial("items, but all weights 0", [zeros(2), zeros(1)]),
            trial("a rank whose weights are all 0", three, [three[0], zeros(2), three[2]]),
            trial("float32, an empty rank", weights([4, 1, 2]), weights([3, 0, 5]), dtype=torch.float32),
            trial("four ranks, one empty, one without weight", four, [four[0], zeros(0), zeros(2), four[3]])]


def _shares_of_items(window: UpdateWindow, gradients: Tensor) -> Iterator[tuple[Reason, Tensor]]:
    """Weighted local means with the factor P·n_r/N that belongs to plain ones."""
    ranks = [window.item_ranks == rank for rank in range(window.world_size)]
    sums = [float(window.item_weights[held].sum()) for held in ranks]
    weights = torch.zeros_like(window.item_weights)
    for held, total, count in zip(ranks, sums, window.rank_counts, strict=True):
        weights[held] = window.item_weights[held] / (total or 1.0) * count / window.item_count
    told = ", ".join(f"{count}/{window.item_count} and {total / window.weight_sum:.3g}"
                     for count, total in zip(window.rank_counts, sums, strict=True))
    yield Reason("divided-by-items", "Each rank's weighted mean entered with the rank's share of the items, not with "
                 f"its share of the weights.\nThese shares are, rank by rank, {told}.", tuple(weights.tolist()),
                 window), weights @ gradients


# ---- item_sum_hook

def _item_sum_hook(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *windows: Sequence[int], sizes: Sequence[int] = ONE_BUCKET,
              dtype: torch.dtype = torch.float64) -> Trial:
        """Each window is one backward pass over all buckets, with another count."""
        model = describe_model("layers", {"sizes": list(sizes)}, draw.generator, dtype)
        calls, expected = [], []
        for counts in windows:
            parts = [_batch(draw, n, rank, sizes, dtype) for rank, n in enumerate(counts)]
            calls.append([[*part, sum(counts)] for part in parts])
            expected.append(ExpectedCall((ExpectedUpdate(UpdateWindow.from_counts(counts), _joined(parts)),)))
        lr = _WIDE_LR if sizes == SEVERAL_BUCKETS else _LR
        training = Training({"model": model}, lr, squared_losses, tuple(expected))
        return training_trial(name, training, calls, hook=True, counts=_by_rank(windows), warm=_warm(sizes, dtype))

    several = {"sizes": SEVERAL_BUCKETS}
    if hidden:
        half = draw.uneven_counts(4, largest=5, empty=2)
        return [trial("rank 0 empty", [3, 2], [0, 4], **several),
                trial("one item in all", [2, 3], [0, 1]),
                trial("float32, an empty rank", [4, 2], [2, 0], dtype=torch.float32),
                trial("three windows, two of three ranks empty", draw.uneven_counts(3), [0, 0, 5], [1, 2, 1]),
                trial("four ranks, two empty", half, [n + 1 for n in reversed(half)], **several)]
    return [trial("one rank", [3], [2]), trial("equal counts", [3, 3], [2, 2]),
            trial("two uneven ranks, several buckets", [2, 6], [4, 1], **several),
            trial("float32", [1, 3], [2, 5], dtype=torch.float32),
            trial("two ranks, one of them empty in the second window", [2, 3], [4, 0]),
            trial("three ranks, one empty, several buckets", [3, 0, 2], [1, 4, 2], **several),
            trial("four uneven ranks", [1, 3, 2, 0], [2, 1, 4, 2])]


def rule_on_hook(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The rule for training, and why a backward pass has not ended though no rank waits in a collective."""
    reasons = rule_on_training(trial, outcomes)
    idle = [o.rank for o in outcomes if o.end == "running" and not o.frames and not o.pending]
    if reasons and reasons[0].key == "timed-out" and idle:
        return [replace(reasons[0], sentence=f"The backward pass of {ranks_words(idle)} did not end before the "
                        "deadline.\nIt waits for a future that the hook returned: is its result ever set?")]
    return reasons


# ---- train_until_exhausted

def _train_until_exhausted(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *calls: Sequence[Sequence[int]], dtype: torch.dtype = torch.float64) -> Trial:
        """Each call is one epoch: counts[r][b] items in batch b of rank r."""
        sizes = [*SIZES[:1], 5, *SIZES[1:]]
        model = describe_model("layers", {"sizes": sizes}, draw.generator, dtype)
        made, expected = [], []
        for counts in calls:
            batches = [[_batch(draw, n, rank, sizes, dtype) for n in row] for rank, row in enumerate(counts)]
            made.append([["@model", list(row), "@optimizer"] for row in batches])
            expected.append(_epoch(counts, batches, _batch(draw, 0, 0, sizes, dtype)))
        training = Training({"model": model}, _LR, squared_losses, tuple(expected))
        special = any(len(call.updates) < max(map(len, counts)) for call, counts in zip(expected, calls, strict=True))
        return training_trial(name, training, made, counts=_by_rank([tuple(map(tuple, call)) for call in calls]),
                              warm=_warm(sizes, dtype), special=special)

    def row(longest: int) -> list[int]:
        return [draw.integer(1, 5) for _ in range(longest)]

    if hidden:
        return [trial("one rank, a round without items", [[2, 0, 3]], [[0]]),
                trial("rank 0 is exhausted first", [row(1), row(4)], [[], row(3)]),
                trial("rounds without items at the beginning and at the end", [[0, 3, 0], [0, 2, 0, 0]], [[4], [1]]),
                trial("three ranks, two without a batch", [[], row(2), []], [row(2), row(1), row(3)]),
                trial("float32, one rank with all the rest", [row(1), row(1), row(4)], [row(2), [0], row(3)],
                      dtype=torch.float32),
                trial("four ranks, one without a batch", [row(3), [], row(1), row(2)], [row(1), row(4), row(4), []])]
    return [trial("one rank", [[3, 1]], [[2]]),
            trial("equal numbers of equal batches", [[3, 3], [3, 3]], [[2], [2]]),
            trial("two ranks, one exhausted earlier", [[3, 1], [2, 4]], [[4, 1, 3], [2]]),
            trial("nothing at all", [[], []], [[0], []]),
            trial("a round in which no rank has an item", [[2, 0, 3], [1, 0]], [[0, 1], [0, 2, 0]]),
            trial("float32", [[2, 5], [4, 1, 3]], [[1], [3, 2]], dtype=torch.float32),
            trial("three ranks, one without a batch", [[1, 4], [3], [2, 2, 5]], [[], [2, 1, 4], [3, 5]]),
            trial("four ranks", [[2], [1, 3], [4, 0], [3]], [[1, 2], [], [5], [2, 3]])]


def _epoch(counts: Sequence[Sequence[int]], batches: Sequence[Sequence[tuple]], none: tuple) -> ExpectedCall:
    """One update for every round with items: the item mean over the batches that are there in that round."""
    updates = []
    rounds = range(max(map(len, counts)))
    parts = [[row[number] if number < len(row) else none for row in batches] for number in rounds]
    for number in rounds:
        held = [row[number] if number < len(row) else 0 for row in counts]
        if sum(held):
            others = [part for other in rounds if other != number for part in parts[other]]
            outside = _joined(others) if sum(len(part[0]) for part in others) else None
            mistaken = (*_taken_again(counts, batches, number), *_rows_of_zeros(held, parts[number]))
            updates.append(ExpectedUpdate(UpdateWindow.from_counts(held), _joined(parts[number]), outside=outside,
                                          mistaken=mistaken))
    return ExpectedCall(tuple(updates), returns=len(updates))


def _taken_again(counts: Sequence[Sequence[int]], batches: Sequence[Sequence[tuple]], number: int) -> tuple:
    """The items of a round in which exhausted ranks take a batch once more."""
    exhausted = [rank for rank, row in enumerate(counts) if row and len(row) <= number]
    return tuple(
        OtherItems("duplicated-items", f"In round {number + 1} {ranks_words(exhausted)} had no batch left and took one "
                   "again that had been in an update.", UpdateWindow.from_counts(held),
                   _joined([part for row in taken for part in row]))
        for held, taken in zip(taken_again(counts, [number]), taken_again(batches, [number]), strict=True))


EXERCISES = (
    Exercise("ddp_scale", ASSIGNMENT, _ddp_scale, rule=rule_on_scales),
    Exercise("ddp_step", ASSIGNMENT, _ddp_step, stage=STAGE, rule=rule_on_training),
    Exercise("weighted_step", ASSIGNMENT, _weighted_step, stage=STAGE, rule=rule_on_training),
    Exercise("item_sum_hook", ASSIGNMENT, _item_sum_hook, stage=STAGE, rule=rule_on_hook),
    Exercise("train_until_exhausted", ASSIGNMENT, _train_until_exhausted, stage=STAGE, rule=rule_on_training),
)
