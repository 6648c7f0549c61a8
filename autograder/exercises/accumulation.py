"""Assignment 5, `accumulation`: sum over the window and divide once, whatever the window was cut into.

A microbatch is (inputs, targets); windows are lists of microbatches whose number and sizes differ between ranks
(lesson 5). Besides the update the ledger is judged (one synchronization), and what a step keeps in memory: saved
activations, rows of a forward, microbatches of an iterator.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from autograder.diagnosis import Reason
from autograder.exercises.record import Draw, Exercise, Raises, Trial, counts_words
from autograder.exercises.rules import rule_on
from autograder.exercises.training import (
    POISON,
    STAGE,
    ExpectedCall,
    ExpectedUpdate,
    OtherItems,
    Training,
    models_at,
    one_synchronization,
    right_update,
    rule_on_training,
    squared_losses,
    taken_again,
    training_trial,
)
from autograder.ranks import wire
from autograder.ranks.report import RankOutcome, ranks_words, sentence
from autograder.reference import reference_update
from autograder.stages.models import describe_model
from autograder.window import UpdateWindow

ASSIGNMENT = "accumulation"
SIZES = (4, 6, 3)
MOST_HELD = 2
_LR = 0.25
_NO_ITEM = "the window has no item (N = 0)"

Counts = Sequence[Sequence[int]]  # counts[r][k] = n_rk
Microbatch = tuple[Tensor, Tensor]


# ---- window_item_count

def _window_item_count(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *counts: list[int]) -> Trial:
        return Trial(name, tuple((row,) for row in counts), sum(map(sum, counts)),
                     counts=tuple(map(tuple, counts)), special=not any(map(sum, counts)))

    def row(longest: int, largest: int = 9) -> list[int]:
        return [draw.integer(0, largest) for _ in range(longest)]

    if hidden:
        return [trial("one rank without microbatches", []), trial("one rank, a large count", [5 * 2**31 + 1]),
                trial("rank 0 without microbatches", [], row(3), row(1)),
                trial("only the last rank has items", [0, 0], [], [0], [draw.integer(1, 9)]),
                trial("four ranks, odd counts beyond 2³²", *([2**33 + 2 * draw.integer(1, 99) + 1] for _ in range(4))),
                trial("eight ranks, many microbatches", *(row(draw.integer(0, 40), 5000) for _ in range(8))),
                trial("eight ranks without an item", *([0] * (rank % 3) for rank in range(8)))]
    return [trial("one rank", [3, 1, 4]), trial("equal counts", [2, 2], [2, 2]),
            trial("numbers of microbatches differ", [1, 4, 0], [2]),
            trial("a rank without microbatches", [5, 2], [], [3, 1, 1]),
            trial("no item at all", [], [0, 0]),
            trial("counts whose sum exceeds 2³¹", [2**30 + 5], [2**30, 3], [2**29 + 1, 2]),
            trial("single counts beyond 2³¹", [3 * 2**31 + 1, 7], [2**32 + 5], [], [11]),
            trial("eight ranks", [4], [], [1, 1, 1], [0], [7, 2], [3], [0, 5], [6])]


def rule_on_counts(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The general rule, names for wrong counts, and the ledger: exactly one collective (at P = 1 one or none)."""
    reasons = rule_on(trial, outcomes)
    if reasons and reasons[0].key == "raised" and "overflow" in reasons[0].sentence:
        return [Reason("overflow-or-truncation", f"{reasons[0].sentence.splitlines()[0]}\nCounts may exceed 2³¹.")]
    if reasons and reasons[-1].key == "wrong-answer":
        return [*_miscounted(trial, _values(outcomes)), *reasons]
    return reasons or _one_collective(trial, outcomes)


def _values(outcomes: Sequence[RankOutcome]) -> list:
    return [wire.decode(outcome.result)["value"] for outcome in outcomes]


def _miscounted(trial: Trial, values: Sequence[int]) -> list[Reason]:
    """Other numbers that these counts give, as they came from the ranks."""
    held = [sum(row) for row in trial.counts]
    n, p, lengths = sum(held), trial.world_size, list(map(len, trial.counts))
    told = f"The ranks hold {counts_words(held)} items, {n} in all; they returned {counts_words(values)}.\n"
    if p == 1:
        told = f"The microbatches hold {n} items; the function returned {values[0]}.\n"

    def same(number: int) -> list[int]:
        return [number] * p

    known = [("local-window-count", held, "Each rank returned the count of its own window only."),
             ("microbatch-count", same(sum(lengths)), "That is the number of microbatches."),
             ("divided-by-world-size", same(n // p), f"That is N/P, the mean over {p} ranks."),
             ("clamped-count", same(sum(max(1, own) for own in held)), "A rank without items was counted as 1."),
             ("clamped-count", same(sum(max(1, m) for row in trial.counts for m in row)),
              "A microbatch without items was counted as 1."),
             ("clamped-count", same(max(1, n)), "Nothing was counted as 1."),
             ("wrong-answer", same(n * p), f"That is P·N = {p}·{n}: it was summed over the ranks twice."),
             ("wrong-answer", same(max(held)), "That is the largest count of a rank, not their sum.")]
    reasons = [Reason(key, told + words) for key, numbers, words in known if list(values) == numbers]
    narrow = any(value != n and (value - n) % 2**32 == 0 or 0 < abs(value - n) <= 1e-5 * n for value in values)
    if narrow and n > 2**24:
        reasons.insert(0, Reason("overflow-or-truncation", f"{told}Which numbers can the dtype hold that carries the "
                                                           "count across?"))
    return reasons


def _one_collective(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    for outcome in outcomes:
        own = [call for call in outcome.calls if call.own]
        called = counts_words([str(call) for call in own[:4]]) if own else "nothing"
        who = f"The count is right. On rank {outcome.rank} the function called {called}"
        if any(call.point_to_point for call in own):
            return [Reason("forbidden-operation", f"{who}; one collective is asked, no sending from rank to rank.")]
        if len(own) > 1:
            return [Reason("extra-synchronization", f"{who}: {len(own)} collectives, and one is enough.\nAn object "
                                                    "gather is two: sizes first, then the objects.")]
        if not own and trial.world_size > 1 and _values(outcomes) == list(map(sum, trial.counts)):
            return [Reason("local-window-count", f"{who}: each rank returned the count of its own window only.")]
        if not own and trial.world_size > 1:
            return [Reason("missing-synchronization", f"{who}: how does it know the other ranks' counts?")]
    return []


# ---- trials with windows

def _microbatches(draw: Draw, counts: Counts, *, away: float = 0.0, dtype: torch.dtype) -> list[list[Microbatch]]:
    """Microbatches of the ranks; targets lie elsewhere in each, so that no weight hides, and `away` from 0."""
    return [[(draw.normal(n, SIZES[0], dtype=dtype),
              draw.normal(n, SIZES[-1], mean=away + rank - 2.0 * (k % 3), dtype=dtype)) for k, n in enumerate(row)]
            for rank, row in enumerate(counts)]


def _joined(microbatches: Iterable[Microbatch], dtype: torch.dtype = torch.float64) -> Microbatch:
    """All of them as one batch, in order."""
    none = torch.zeros(0, SIZES[0], dtype=dtype), torch.zeros(0, SIZES[-1], dtype=dtype)
    return tuple(torch.cat(column) for column in zip(none, *microbatches, strict=True))


def _flat(window: list[list[Microbatch]]) -> list[Microbatch]:
    return [microbatch for row in window for microbatch in row]


def _total(counts: Counts) -> int:
    return sum(map(sum, counts))


def _shown(windows: Sequence[Counts]) -> tuple:
    """The counts of all calls as messages show them: by rank, and where calls differ by call."""
    first = tuple(map(tuple, windows[0]))
    if all(tuple(map(tuple, counts)) == first for counts in windows):
        return first
    return tuple(tuple(tuple(row) for row in ranks) for ranks in zip(*windows, strict=True))


def _trial(name: str, model: dict, lr: float, windows: Sequence[Counts], calls: list, expected: Sequence[ExpectedCall],
           error: Raises | None = None, **facts: object) -> Trial:
    dtype = model["parameters"][0].dtype
    training = Training({"model": model}, lr, squared_losses, tuple(expected), error)
    return training_trial(name, training, calls, counts=_shown(windows),
                          warm={"model": torch.ones(2, SIZES[0], dtype=dtype)}, **facts)


def _single_update(draw: Draw, name: str, *windows: Counts, dtype: torch.dtype = torch.float64,
                   streamed: bool = False) -> Trial:
    """Each window, counts[r][k], is one call with the same model that makes one update."""
    model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
    calls, expected = [], []
    for counts in windows:
        held = _microbatches(draw, counts, dtype=dtype)
        calls.append([["@model", {"iterator": row} if streamed else row, "@optimizer"] for row in held])
        if _total(counts):
            update = ExpectedUpdate(UpdateWindow.from_counts(counts), _joined(_flat(held), dtype))
            expected.append(ExpectedCall((update,)))
    error = None if expected else Raises(ValueError, _NO_ITEM)
    return _trial(name, model, _LR, windows, calls, expected, error)


def own_forwards(trial: Trial, number: int, expected: ExpectedCall, records: Sequence[dict]) -> list[Reason]:
    """A check: each microbatch has its own forward and backward, so nothing of an earlier one is held."""
    for rank, record in enumerate(records):
        sizes = [n for update in expected.updates for n in update.window.counts[rank] if n]
        rows = [n for n in record["rows"] if n]
        if rows and sizes and (max(rows) > max(sizes) or len(rows) < len(sizes)):
            return [Reason("held-graphs", f"The update is right, but rank {rank} passed {counts_words(rows)} rows "
                                          f"through the model at once; its microbatches hold {counts_words(sizes)}.\n"
                                          "Each has its own forward and backward: that is what saves memory.")]
        held = record["held_at_forward"]
        if any(held):
            return [Reason("held-graphs", f"The update is right, but when forward {held.index(max(held)) + 1} of rank "
                                          f"{rank} began, {max(held)} saved activations of earlier ones were held "
                                          "(0 is right).\nCall backward before the next forward: it lets them go.")]
    return []


def few_microbatches(trial: Trial, number: int, expected: ExpectedCall, records: Sequence[dict]) -> list[Reason]:
    """A check: of an iterator's microbatches at most two are held when a forward begins."""
    for rank, record in enumerate(records):
        if record["microbatches_held"] > MOST_HELD:
            return [Reason("held-window", f"The update is right, but rank {rank} held {record['microbatches_held']} "
                                          f"microbatches at a time; at most {MOST_HELD} are allowed.\nThe one in work "
                                          "and the next one are enough to know which is the last.")]
    return []


def _checked(*checks: Callable) -> Callable[[Trial, Sequence[RankOutcome]], list[Reason]]:
    def rule(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
        return rule_on_training(trial, outcomes, *checks)
    return rule


# ---- accumulate_item_mean

def _accumulate_item_mean(draw: Draw, hidden: bool) -> list[Trial]:
    trial = partial(_single_update, draw)
    if hidden:
        return [trial("one item in all", [[0, 1]], [[1, 0, 0]]),
                trial("one large and many small", [[30, 1, 1, 1, 1]], [[1, 20]]),
                trial("ten microbatches", [[draw.integer(0, 4) for _ in range(9)] + [2]], [[2, 1]]),
                trial("only empty ones around", [[0, 0, 5, 0]], [[0, 3, 2]]),
                trial("one empty microbatch and no other", [[0]]),
                trial("float32, two empty", [[4, 0, 2, 0]], [[0, 1, 6]], dtype=torch.float32)]
    return [trial("one microbatch", [[5]], [[3]]), trial("equal counts", [[3, 3, 3]], [[4, 4]]),
            trial("uneven counts", [[2, 6]], [[1, 4, 2]]),
            trial("an empty one in the middle", [[4, 0, 1]], [[2, 0, 5, 1]]),
            trial("the first and the last are empty", [[0, 3, 1, 0]], [[0, 2, 0]]),
            trial("no microbatch at all", [[]]), trial("no item at all", [[0, 0, 0]]),
            trial("float32", [[1, 5, 3]], [[6, 2]], dtype=torch.float32)]


# ---- ddp_accumulate, accumulate_then_divide

def _distributed(draw: Draw, hidden: bool, *, streamed: bool = False) -> list[Trial]:
    trial = partial(_single_update, draw, streamed=streamed)

    def row(longest: int, largest: int = 5) -> list[int]:
        return [draw.integer(0, largest) for _ in range(longest)] + [draw.integer(1, largest)]

    if hidden:
        return [trial("a single rank, one microbatch", [[4]], [[0, 2]]),
                trial("rank 0 has nothing in the second window", [[2, 1], row(1)], [[], row(3)]),
                trial("one item in all", [[0, 0], [0, 1]], [[1], [0]]),
                trial("three ranks, only one with items", [row(1), [2], row(2)], [[0], [], row(3)]),
                trial("three ranks without an item", [[], [0], [0, 0]]),
                trial("float32, a rank without microbatches", [[1, 4], [3], [2]], [row(2), [], row(1)],
                      dtype=torch.float32),
                trial("four ranks, K from 0 to 5", [row(4), row(1), [], row(2)], [[], row(3), row(0), [0, 0]])]
    return [trial("one rank", [[2, 5, 1]], [[3, 1]]),
            trial("equal counts", [[3, 3], [3, 3]], [[2, 2, 2], [2, 2, 2]]),
            trial("equal numbers of unequal microbatches", [[1, 4, 2], [2, 3, 6]], [[5, 1], [1, 2]]),
            trial("K differs", [[1, 4, 0], [2, 6]], [[3], [1, 2, 5]]),
            trial("no item at all", [[0, 0], []]),
            trial("a rank without microbatches", [[2, 1], [4, 1, 3], [5]], [[3, 2], [], [1, 4]]),
            trial("float32", [[2, 4], [1, 3, 2], [6]], [[1], [5, 2], [0, 3]], dtype=torch.float32),
            trial("four ranks, two of them with empty ones", [[1, 2], [0], [4, 0, 3], [5]], [[], [3, 1], [2], [0, 6]])]


# ---- clip_then_step

_CLIP_LR = 2.0**-6
_AWAY = 25.0  # where the targets lie: makes norms of 30 and more, so that clip_grad_norm_'s 1e-6 stays far inside


def _clip_then_step(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *windows: tuple[float, Counts], dtype: torch.dtype = torch.float64) -> Trial:
        """Each window is one call: max_norm as a share of the norm that is due, and counts[r][k]."""
        model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
        at = torch.cat([p.flatten() for p in model["parameters"]]).double()
        training = Training({"model": model}, _CLIP_LR, squared_losses, ())
        calls, expected = [], []
        for share, counts in windows:
            held = _microbatches(draw, counts, away=_AWAY, dtype=dtype)
            batch = _joined(_flat(held), dtype)
            max_norm = share
            if _total(counts):
                max_norm = round(share * float(_gradient(models_at(training.models, at), batch).norm()), 3)
                window = UpdateWindow.from_counts(counts)
                update = ExpectedUpdate(window, batch, clip_to=max_norm,
                                        alternatives=partial(_clipped_otherwise, window, max_norm))
                expected.append(ExpectedCall((update,), returns=partial(_norm, batch)))
                at = at - _CLIP_LR * right_update(training, update, models_at(training.models, at))
            calls.append([["@model", row, "@optimizer", max_norm] for row in held])
        error = None if expected else Raises(ValueError, _NO_ITEM)
        return _trial(name, model, _CLIP_LR, [counts for _, counts in windows], calls, expected, error)

    def row(longest: int, largest: int = 5) -> list[int]:
        return [draw.integer(0, largest) for _ in range(longest)] + [draw.integer(1, largest)]

    if hidden:
        return [trial("a single rank, a small max_norm", (0.05, [[4, 1]]), (0.5, [[0, 2]])),
                trial("rank 0 without items", (0.6, [[], row(2)]), (3.0, [[0], row(1)])),
                trial("max_norm between the norm and P times the norm", (1.4, [row(1), row(2), row(0)]),
                      (1.7, [row(2), row(0), row(1)])),
                trial("max_norm far above", (50.0, [row(1), row(1)]), (20.0, [row(0), row(2)])),
                trial("three ranks without an item", (7.5, [[], [0], []])),
                trial("float32, clipped in both calls", (0.4, [row(1), row(2)]), (0.6, [row(2), [2]]),
                      dtype=torch.float32),
                trial("four ranks", (0.3, [row(1), [], row(3), row(0)]), (2.0, [row(0), row(2), [0], row(1)]))]
    return [trial("one rank, clipped, then not", (0.5, [[2, 5, 1]]), (2.0, [[3, 1]])),
            trial("equal counts", (0.4, [[3, 3], [3, 3]]), (0.7, [[2, 2], [2, 2]])),
            trial("below max_norm: nothing to clip", (1.7, [[1, 4], [2, 6, 3]]), (2.5, [[3], [1, 5]])),
            trial("above max_norm", (0.7, [[1, 4, 0], [2, 6]]), (0.3, [[3], [1, 2, 5]])),
            trial("no item at all", (5.0, [[0, 0], []])),
            trial("a rank without microbatches", (0.6, [[2, 1], [4, 1, 3], [5]]), (1.6, [[3, 2], [], [1, 4]])),
            trial("float32", (0.5, [[2, 4], [1, 3, 2], [6]]), (2.0, [[1], [5, 2], [0, 3]]), dtype=torch.float32),
            trial("four ranks", (0.6, [[1, 2], [0], [4, 0, 3], [5]]), (0.4, [[2], [3, 1], [2], [0, 6]]))]


def _gradient(models: torch.nn.ModuleDict, batch: Microbatch) -> Tensor:
    return reference_update(models, squared_losses, *batch)


def _norm(batch: Microbatch, models: torch.nn.ModuleDict) -> float:
    return float(_gradient(models, batch).norm())


def _clip(gradient: Tensor, max_norm: float) -> Tensor:
    norm = float(gradient.norm())
    return gradient * min(1.0, max_norm / norm) if norm else gradient


def _clipped_otherwise(window: UpdateWindow, max_norm: float, gradients: Tensor) -> Iterator[tuple[Reason, Tensor]]:
    """Updates that clip nothing, something else, or too early: pairs of (reason, update [D])."""
    n, p = window.item_count, window.world_size
    right = gradients.sum(0) / n
    norm = float(right.norm())
    due = f"The normalised global gradient has norm {norm:.4g}, and max_norm is {max_norm:.4g}"
    wrongly, early = partial(Reason, "clipped-wrongly"), partial(Reason, "clipped-before-normalizing")

    yield wrongly(f"{due}, but nothing was clipped."), right
    yield wrongly(f"{due}: it is short enough, but it was scaled up to max_norm."), right * max_norm / norm
    yield wrongly(f"{due}, but each parameter was clipped by its own norm.\nOne norm over all parameters keeps the "
                  "direction."), torch.cat([_clip(part, max_norm) for part in right.split(_parameter_sizes())])
    yield wrongly(f"{due}, but each entry was cut to ±max_norm, which turns the gradient."), right.clamp(
        -max_norm, max_norm)
    yield (wrongly(f"{due}, but it was compared with the square of the norm, {norm**2:.4g}."),
           right * min(1.0, max_norm / norm**2))
    for name, kind in (("largest entry", torch.inf), ("sum of absolute values", 1)):
        other = float(torch.linalg.vector_norm(right, kind))
        yield (wrongly(f"{due}. The norm is the 2-norm, but the {name} ({other:.4g}) was compared with it."),
               right * min(1.0, max_norm / other))
    yield (wrongly(f"{due}, but it was compared with {norm * p**0.5:.4g}: the squares of {p} norms were added, "
                   "though each is that of the whole gradient."), right * min(1.0, max_norm / norm / p**0.5))
    yield (wrongly(f"{due}, but P = {p} times the gradient was compared with it, or the gradient with max_norm/P."),
           _clip(right * p, max_norm) / p)

    for factor, what in ((1 / n, "sum of the item gradients"), (p / n, "mean over ranks of their sums")):
        yield (early(f"{due}. The {what}, of norm {norm / factor:.4g}, was clipped before it was divided.\nSo the step "
                     "is too short: first divide, then clip."), _clip(right / factor, max_norm) * factor)
    for scale, rest in ((1.0, 1 / n), (p / n, 1 / p), (1 / n, 1.0)):  # on each local sum; what makes it right after all
        rows = [[scale * part for part in row] for row in _microbatch_sums(window, gradients) if row]
        key = early if scale == 1.0 else wrongly
        for update in _ends(sum(_clip(sum(row), max_norm) for row in rows), rest, max_norm, p):
            yield key(f"{due}.\nEach rank clipped its own gradient before the reduction, so ranks were cut "
                      "differently."), update
        for way in (_each_cut, _sum_so_far_cut):
            for skipped in (0, 1):  # the last: in its backward DDP has reduced already
                for update in _ends(sum(way(row, max_norm, len(row) - skipped) for row in rows), rest, max_norm, p):
                    yield early(f"{due}.\nIt was clipped in each microbatch, not once when the window's gradient was "
                                "complete, reduced and divided."), update
    stale = Reason("stale-gradients", "The gradients that stood in .grad before the call entered the update, and then "
                                      "they were clipped.\nThe function must clear old gradients itself.")
    for scale in (1.0, p, p / n, 1 / n):
        yield stale, _clip(right + scale * POISON, max_norm)


def _microbatch_sums(window: UpdateWindow, gradients: Tensor) -> list[list[Tensor]]:
    """[r][k] → the sum of the item gradients, [D]."""
    parts = iter(gradients.split([n for row in window.counts for n in row]))
    return [[next(parts).sum(0) for _ in row] for row in window.counts]


def _each_cut(parts: list[Tensor], max_norm: float, cut: int) -> Tensor:
    """The first `cut` microbatch gradients are clipped, each by itself, and all are added."""
    return sum(_clip(part, max_norm) if k < cut else part for k, part in enumerate(parts))


def _sum_so_far_cut(parts: list[Tensor], max_norm: float, cut: int) -> Tensor:
    """After each of the first `cut` microbatches all that is in .grad is clipped."""
    held = torch.zeros_like(parts[0])
    for k, part in enumerate(parts):
        held = _clip(held + part, max_norm) if k < cut else held + part
    return held


def _ends(held: Tensor, rest: float, max_norm: float, world_size: int) -> Iterator[Tensor]:
    """What a step makes of gradients that were cut before: times `rest`, and clipped again at some point, or not."""
    yield held * rest
    for factor in (rest, 1.0, 1 / world_size):
        yield _clip(held * factor, max_norm) * rest / factor


def _parameter_sizes() -> list[int]:
    return [size for wide, narrow in zip(SIZES, SIZES[1:], strict=False) for size in (wide * narrow, narrow)]


# ---- train_windows

def _train_windows(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *calls: tuple[int, Counts], dtype: torch.dtype = torch.float64) -> Trial:
        """Each call is one epoch: accumulation_steps, and counts[r][k]."""
        model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
        made, expected = [], []
        for steps, counts in calls:
            held = _microbatches(draw, counts, dtype=dtype)
            made.append([["@model", row, "@optimizer", steps] for row in held])
            expected.append(_epoch(steps, counts, held, dtype))
        special = any(len(call.updates) * steps < max(map(len, counts))
                      for call, (steps, counts) in zip(expected, calls, strict=True))
        return _trial(name, model, _LR, [counts for _, counts in calls], made, expected, special=special,
                      accumulation_steps=[steps for steps, _ in calls])

    def row(longest: int, largest: int = 4) -> list[int]:
        return [draw.integer(1, largest) for _ in range(longest)]

    if hidden:
        return [trial("one rank, fewer microbatches than a window holds", (5, [[2, 1]]), (3, [[4]])),
                trial("rank 0 is exhausted first", (2, [row(1), row(5)]), (2, [[], row(3)])),
                trial("windows of one microbatch", (1, [row(2), row(3)]), (1, [row(3), row(1)])),
                trial("windows without items at the beginning and in the middle",
                      (2, [[0, 0, 3], [0, 0, 1, 2]]), (1, [[4, 0, 2], [1, 0]])),
                trial("three ranks, two without a microbatch", (2, [[], row(3), []]), (3, [row(4), row(2), row(1)])),
                trial("float32, a short last window", (3, [row(4), row(4), row(4)]), (2, [row(2), [0], row(3)]),
                      dtype=torch.float32),
                trial("four ranks", (2, [row(3), [], row(1), row(2)]), (3, [row(1), row(4), row(4), []]))]
    return [trial("one rank, a short last window", (2, [[3, 1, 4]]), (2, [[2, 2]])),
            trial("equal counts, a short last window", (2, [[3, 3, 3], [3, 3, 3]]), (2, [[2, 2, 2], [2, 2, 2]])),
            trial("two ranks, one exhausted earlier", (2, [[3, 0, 2], [2, 4, 1, 5, 3]]), (3, [[4, 1, 3, 2], [2]])),
            trial("nothing at all", (2, [[], []]), (3, [[0], []])),
            trial("a window in which no rank has an item", (2, [[2, 1, 0, 0, 3], [1, 4, 0]]), (1, [[0, 1], [0, 2, 0]])),
            trial("float32", (2, [[2, 5, 3], [4, 1]]), (2, [[1, 3, 2], [3, 2, 6]]), dtype=torch.float32),
            trial("three ranks, one without a microbatch", (2, [[1, 4, 2], [3], [2, 2, 5]]), (2, [[], [2, 1, 4], [3]])),
            trial("four ranks", (3, [[2, 1], [1, 3, 2, 4], [4, 0], [3]]), (2, [[1, 2], [], [5, 1, 2], [2, 3]]))]


def _epoch(steps: int, counts: Counts, held: list[list[Microbatch]], dtype: torch.dtype) -> ExpectedCall:
    """One update for every window with items: the item mean over its microbatches, however many are left."""
    starts = range(0, max(map(len, counts)), steps)
    batches = {start: _flat([row[start : start + steps] for row in held]) for start in starts}
    updates = []
    for start in starts:
        inside = [list(row[start : start + steps]) for row in counts]
        others = _joined([m for other in starts if other != start for m in batches[other]], dtype)
        if _total(inside):
            places = range(max(map(len, counts)))[start : start + steps]
            updates.append(ExpectedUpdate(
                UpdateWindow.from_counts(inside, accumulation_steps=steps), _joined(batches[start], dtype),
                outside=others if len(others[0]) else None, mistaken=_taken_again(counts, held, places, dtype),
                alternatives=partial(_as_if_full, max(map(len, inside)), steps)))
    return ExpectedCall(tuple(updates), returns=len(updates))


def _taken_again(counts: Counts, held: list[list[Microbatch]], places: range, dtype: torch.dtype) -> tuple:
    """The items of a window for which exhausted ranks take microbatches once more."""
    exhausted = [rank for rank, row in enumerate(counts) if row and len(row) <= places[-1]]
    return tuple(
        OtherItems("duplicated-items", f"{sentence(ranks_words(exhausted))} had too few microbatches left for this "
                   "window and took some again that had been in an update.", UpdateWindow.from_counts(numbers),
                   _joined(_flat(taken), dtype))
        for numbers, taken in zip(taken_again(counts, places), taken_again(held, places), strict=True))


def _as_if_full(held: int, steps: int, gradients: Tensor) -> Iterator[tuple[Reason, Tensor]]:
    """The item mean times K/A, as when each share was divided for a full window of A microbatches."""
    if held < steps:
        yield (Reason("full-window-divisor-on-partial-window",
                      f"Every item weighed {held}/{steps} of its share: the window has {held} of at most {steps} "
                      "microbatches and was divided as if it were full.\nCount what a window holds, and a short one "
                      "needs no case of its own."), gradients.mean(0) * held / steps)


EXERCISES = (
    Exercise("window_item_count", ASSIGNMENT, _window_item_count, rule=rule_on_counts),
    Exercise("accumulate_item_mean", ASSIGNMENT, _accumulate_item_mean, ranks=False, stage=STAGE,
             rule=_checked(own_forwards)),
    Exercise("ddp_accumulate", ASSIGNMENT, _distributed, stage=STAGE, rule=_checked(own_forwards, one_synchronization)),
    Exercise("accumulate_then_divide", ASSIGNMENT, partial(_distributed, streamed=True), stage=STAGE,
             rule=_checked(own_forwards, few_microbatches, one_synchronization)),
    Exercise("clip_then_step", ASSIGNMENT, _clip_then_step, stage=STAGE, rule=rule_on_training),
    Exercise("train_windows", ASSIGNMENT, _train_windows, stage=STAGE, rule=rule_on_training),
)
