"""Assignment 6, `in_the_wild`: read the weights off an update, name the dials, and repair steps as they are reported.

Each repair is a family of public reports (docs/field_guide.md): a value reduced in place of a gradient, a second term
under a factor made for the first, a sampler that repeats, a count over the wrong ranks, parameters that other ranks
share (lesson 6).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor, nn

from autograder import diagnosis, dials
from autograder.diagnosis import Reason
from autograder.exercises.record import Draw, Exercise, Holds, Raises, Trial
from autograder.exercises.rules import TOLERANCE, reasons_of, shown
from autograder.exercises.training import (
    STAGE,
    ExpectedCall,
    ExpectedUpdate,
    OtherItems,
    Training,
    models_at,
    rule_on_training,
    squared_losses,
    training_trial,
)
from autograder.ranks import wire
from autograder.ranks.report import RankOutcome
from autograder.reference import per_item_gradients
from autograder.stages.models import describe_model
from autograder.stages.train import POISON
from autograder.weights import recover_weights
from autograder.window import UpdateWindow

ASSIGNMENT = "in_the_wild"
SIZES = (4, 3)
SHARED_SIZES, EXPERT_SIZES = (4, 5), (5, 3)
DIVISORS = ("nothing", "microbatch", "rank", "window")
WAYS = ("sum", "mean")
_LR = 0.5
_NO_ITEM = "no rank has an item (N = 0)"
_ROUNDING = 3e-8  # relative noise of weights that were measured: far below the bound, and no equality holds

Counts = Sequence[Sequence[int]]  # counts[r][k] = n_rk


def _batch(draw: Draw, count: int, place: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Items whose targets lie elsewhere than those of other places: no weight hides."""
    return draw.normal(count, SIZES[0], dtype=dtype), draw.normal(count, SIZES[-1], mean=place, dtype=dtype)


def _joined(parts: Sequence[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    return tuple(torch.cat(column) for column in zip(*parts, strict=True))


def _by_rank(windows: Sequence[Sequence]) -> tuple:
    """The counts of each call, windows[c][r], as messages show them: by rank, and where calls differ by call."""
    return tuple(windows[0]) if len(set(map(tuple, windows))) == 1 else tuple(zip(*windows, strict=True))


def _warm(dtype: torch.dtype) -> dict[str, Tensor]:
    return {"model": torch.ones(2, SIZES[0], dtype=dtype)}


# ---- effective_weights

def _effective_weights(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, gradients: Tensor, weights: Tensor, noise: float = 0.0) -> Trial:
        """`noise`: what stands across all gradients, relative to the update."""
        update = weights @ gradients
        if noise:
            update = update + noise * float(update.norm()) * _across(draw, gradients)
        sizes = gradients.norm(dim=1)
        if not weights.any():
            return Trial(name, ((update, gradients),), weights)
        mistakes = (_mistake("the weights of the gradients scaled to length 1, not of the gradients", weights * sizes),
                    _mistake("gᵢ·u/gᵢ·gᵢ, which counts what gradients have in common once for each",
                             gradients @ update / sizes**2),
                    _mistake("gᵢ·u, a projection and no coefficient", gradients @ update))
        return Trial(name, ((update, gradients),), weights, mistakes=mistakes)

    def error(name: str, update: Tensor, gradients: Tensor, why: str) -> Trial:
        return Trial(name, ((update, gradients),), Raises(ValueError, why))

    def drawn(count: int) -> Tensor:
        """Weights as mistakes leave them: uneven, and now and then negative."""
        return draw.normal(count, mean=2.0) / (2 * count)

    def spread(count: int, orders: float) -> Tensor:
        return 10.0 ** -torch.linspace(0, orders, count, dtype=torch.float64)[:, None]

    ones = torch.ones(4, dtype=torch.float64)
    if hidden:
        near = draw.normal(3, 12)
        near[2] = near[1] + 1e-2 * draw.normal(12)
        parallel = draw.normal(4, 10)
        parallel[3] = 1e-8 * parallel[1]
        infinite = draw.normal(3, 9)
        infinite[1, 4] = torch.inf
        return [trial("many items", draw.normal(40, 120), drawn(40)),
                trial("the largest gradient is 10⁸ times the smallest", draw.normal(6, 30) * spread(6, 8), drawn(6)),
                trial("two gradients of nearly the same direction", near, drawn(3)),
                trial("large gradients", 1e6 * draw.normal(5, 20), drawn(5)),
                trial("as many numbers as items, sizes that differ", draw.normal(5, 5) * spread(5, 4), drawn(5)),
                error("two items with parallel gradients of other sizes", parallel.sum(0), parallel,
                      "two gradients are parallel, so only their sum is known"),
                error("an infinite gradient", draw.normal(9), infinite, "a value is not finite"),
                error("an update that was clipped after a step of weight decay",
                      *_off(draw, 4, 20, 1e-4), "the update is no weighted sum of these gradients"),
                error("small gradients, one of them zero",
                      *_with_zero_row(draw, 1e-3), "the gradient of an item is zero, so its weight is unknown")]
    twins, chain = draw.normal(4, 10), draw.normal(5, 12)
    twins[3] = twins[0]
    chain[4] = chain[:3].sum(0)
    poisoned = draw.normal(8)
    poisoned[2] = torch.nan
    return [trial("one item", draw.normal(1, 3), drawn(1)),
            trial("the item mean", draw.normal(4, 12), ones / 4),
            trial("a mean of rank means: 2 and 6 items", draw.normal(8, 20),
                  torch.tensor([1 / 4] * 2 + [1 / 12] * 6, dtype=torch.float64)),
            trial("as many numbers as items", draw.normal(6, 6), drawn(6)),
            trial("gradient sizes over eight orders", draw.normal(5, 16) * spread(5, 8), drawn(5)),
            trial("an update of zero", draw.normal(3, 8), 0 * ones[:3]),
            trial("rounding in the update", draw.normal(5, 15), drawn(5), 1e-9),
            error("two equal gradients", twins.sum(0), twins, "two gradients are equal, so only their sum is known"),
            error("one gradient is the sum of others", chain.sum(0), chain, "the gradients depend on each other"),
            error("an item whose gradient is zero", *_with_zero_row(draw, 1.0),
                  "the gradient of an item is zero, so its weight is unknown"),
            error("a NaN in the update", poisoned, draw.normal(3, 8), "a value is not finite"),
            error("an update with momentum in it", *_off(draw, 4, 12, 0.3),
                  "the update is no weighted sum of these gradients")]


def _mistake(words: str, value: Tensor) -> tuple[Reason, Tensor]:
    return Reason("wrong-answer", f"The function returned {shown(value)}.\nThat is {words}."), value


def _across(draw: Draw, gradients: Tensor) -> Tensor:
    """A unit vector across all gradients [n, D], n < D."""
    basis = torch.linalg.qr((gradients / gradients.norm(dim=1, keepdim=True)).T)[0]
    vector = draw.normal(gradients.shape[1])
    vector = vector - basis @ (basis.T @ vector)
    return vector / vector.norm()


def _off(draw: Draw, count: int, width: int, share: float) -> tuple[Tensor, Tensor]:
    """(update, gradients) where this share of the update is no weighted sum."""
    gradients = draw.normal(count, width)
    update = gradients.mean(0)
    return update + share * update.norm() * _across(draw, gradients), gradients


def _with_zero_row(draw: Draw, size: float) -> tuple[Tensor, Tensor]:
    gradients = size * draw.normal(4, 10)
    gradients[2] = 0.0
    return gradients.mean(0), gradients


# ---- name_the_dials

def _name_the_dials(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, counts: Counts, *triple: str, rounding: float = 0.0) -> Trial:
        window = UpdateWindow.from_counts(counts)
        weights = dials.predict_weights(dials.Setting(*triple), window)
        if rounding:
            weights = weights * (1 + rounding * draw.normal(len(weights)).clamp(-3, 3))
        return Trial(name, ((weights, {"counts": [list(row) for row in counts]}),),
                     Holds(lambda answer: _against_triple(answer, weights, window)), counts=tuple(map(tuple, counts)))

    def error(name: str, counts: Counts, weights: Tensor, why: str) -> Trial:
        return Trial(name, ((weights, {"counts": [list(row) for row in counts]}),),
                     Raises(ValueError, f"no setting of the dials gives these weights ({why})"))

    def mean_of(counts: Counts) -> Tensor:
        return UpdateWindow.from_counts(counts).expected_weights.clone()

    apart: Counts = [[1, 4, 0], [2, 3, 5]]
    if hidden:
        uneven = [[draw.integer(1, 5) for _ in range(draw.integer(1, 4))] for _ in range(4)]
        odd = [[2, 0, 1], [4], [], [1, 6]]
        close = mean_of(apart)
        close[3] *= 1 + 1e-4
        all_settings = list(product(DIVISORS, WAYS, WAYS))
        return [*(trial(f"four uneven ranks: {', '.join(triple)}", uneven, *triple, rounding=_ROUNDING)
                  for triple in all_settings[draw.integer(0, 2)::3]),
                trial("a rank without microbatches", odd, "microbatch", "mean", "mean"),
                trial("a rank without microbatches, divided by rank counts", odd, "rank", "mean", "sum"),
                trial("eight ranks", [[rank + 1, 2] for rank in range(7)] + [[0]], "nothing", "mean", "mean"),
                error("one item's weight is off by 1/10000", apart, close, "one weight is off"),
                error("only ranks with items were averaged", [[4], [2], [0]],
                      torch.tensor([1 / 8] * 4 + [1 / 4] * 2, dtype=torch.float64), "it would take P = 2 of 3 ranks"),
                error("only microbatches with items were averaged", [[2, 0], [1, 3]],
                      torch.tensor([1 / 4] * 2 + [1 / 4] + [1 / 12] * 3, dtype=torch.float64),
                      "it would take K = 1 of 2 microbatches")]
    return [trial("the item mean", apart, "window", "sum", "sum"),
            trial("equal counts", [[3, 3], [3, 3]], "microbatch", "mean", "mean"),
            trial("the worked example", [[2], [6]], "rank", "sum", "mean"),
            trial("an empty microbatch", apart, "microbatch", "mean", "mean"),
            trial("an empty rank", [[5], [0], [2]], "rank", "sum", "mean"),
            trial("measured weights, with their rounding", apart, "window", "sum", "mean", rounding=_ROUNDING),
            trial("numbers of microbatches differ", [[1, 4], [2, 3, 5]], "microbatch", "mean", "sum"),
            trial("one rank", [[1, 3, 2]], "nothing", "mean", "sum"),
            trial("many counts", [[1, 2, 3], [4], [5, 6, 7, 8]], "nothing", "mean", "mean"),
            error("every weight is twice as large as it should be", [[1, 2], [3, 1, 4]],
                  2 * mean_of([[1, 2], [3, 1, 4]]), "a factor 2 is on none of them"),
            error("an example that counted twice", [[2], [3]],
                  torch.tensor([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6], dtype=torch.float64), "one weight is off")]


def _against_triple(answer: object, weights: Tensor, window: UpdateWindow) -> Reason | None:
    """Whether (divisor, microbatches, ranks) predicts the weights; any triple that does is right."""
    if not isinstance(answer, (tuple, list)):
        return Reason("wrong-type", f"The function returned {shown(answer)} where three words are asked.")
    if len(answer) != 3 or not all(isinstance(word, str) for word in answer):
        return Reason("wrong-shape", f"The function returned {str(tuple(answer))[:80]} where three words are asked.")
    known = (DIVISORS, WAYS, WAYS)
    for word, words in zip(answer, known, strict=True):
        if word not in words:
            order = "argument-order" if word in (*DIVISORS, *WAYS) else "wrong-answer"
            return Reason(order, f"{word!r} stands where one of {', '.join(words)} is asked.\n"
                                 "The order is: divisor, microbatches, ranks.")
    predicted = dials.predict_weights(dials.Setting(*answer), window)
    if bool((predicted - weights).abs().max() <= TOLERANCE[torch.float64] * weights.abs().max()):
        return None
    item = int((predicted / weights - 1).abs().argmax())
    rank, microbatch = int(window.item_ranks[item]), int(window.item_microbatches[item])
    counts = "; ".join(f"rank {r}: {'+'.join(map(str, row)) or '0'}" for r, row in enumerate(window.counts))
    return Reason("wrong-answer", f"With {', '.join(answer)} item {item}, in microbatch {microbatch} of rank {rank}, "
                                  f"weighs {float(predicted[item]):.6g}; it weighed {float(weights[item]):.6g}.\n"
                                  f"Items of each microbatch: {counts}.")


# ---- repair_reduced_loss

def _repair_reduced_loss(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *windows: Sequence[int], dtype: torch.dtype = torch.float64) -> Trial:
        model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
        calls, expected = [], []
        for counts in windows:
            parts = [_batch(draw, n, rank, dtype) for rank, n in enumerate(counts)]
            calls.append([["@model", *part, "@optimizer"] for part in parts])
            if sum(counts):
                batch = _joined(parts)
                expected.append(ExpectedCall((ExpectedUpdate(UpdateWindow.from_counts(counts), batch),),
                                             returns=_mean_loss(batch)))
        error = None if expected else Raises(ValueError, _NO_ITEM)
        training = Training({"model": model}, _LR, squared_losses, tuple(expected), error)
        return training_trial(name, training, calls, counts=_by_rank(windows), warm=_warm(dtype))

    if hidden:
        return [trial("a single rank, many items", [30], [2]),
                trial("rank 0 empty", [4, 1], [0, 3]),
                trial("one item in all", [0, 1], [2, 1]),
                trial("float32, two of three ranks empty", [3, 1, 6], [0, 0, 4], dtype=torch.float32),
                trial("three ranks without an item", [0, 0, 0]),
                trial("four uneven ranks, one empty", draw.uneven_counts(4, empty=1), draw.uneven_counts(4))]
    return [trial("one rank", [4], [2]), trial("equal counts", [3, 3], [2, 2]),
            trial("two uneven ranks", [2, 6], [5, 1]),
            trial("no item at all", [0, 0]),
            trial("an empty rank", [5, 0, 2], [1, 3, 4]),
            trial("float32", [4, 1, 2], [1, 6, 2], dtype=torch.float32),
            trial("four uneven ranks", [1, 7, 2, 4], [3, 1, 0, 5])]


def _mean_loss(batch: tuple[Tensor, Tensor]) -> Callable[[nn.ModuleDict], float]:
    inputs, targets = (column.double() for column in batch)

    @torch.no_grad()
    def of(models: nn.ModuleDict) -> float:
        return float(squared_losses(models, inputs, targets).mean())

    return of


# ---- repair_auxiliary_term

@dataclass(frozen=True)
class TwoTerms(ExpectedUpdate):
    """An update on two means: of the items, and of one value for each microbatch.

    terms(models) → these values [P·K], each with the coefficient of the second term; term_window: one of them for
    each microbatch. Their mean is the `extra` term.
    """

    terms: Callable[[nn.ModuleDict], Tensor] | None = None
    term_window: UpdateWindow | None = None


def _repair_auxiliary_term(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, *windows: Counts, dtype: torch.dtype = torch.float64) -> Trial:
        model = describe_model("balanced", {"sizes": list(SIZES)}, draw.generator, dtype)
        model["parameters"][1] += torch.tensor([1.0, -1.0], dtype=dtype)  # a gate in balance has no gradient
        calls, expected = [], []
        for counts in windows:
            weight = draw.integer(8, 24) / 4
            parts = [[_batch(draw, n, rank, dtype) for n in row] for rank, row in enumerate(counts)]
            calls.append([["@model", list(row), "@optimizer", weight] for row in parts])
            expected.append(ExpectedCall((_two_terms(counts, [part for row in parts for part in row], weight),)))
        training = Training({"model": model}, _LR, _balanced_losses, tuple(expected))
        return training_trial(name, training, calls, warm=_warm(dtype),
                              counts=_by_rank([tuple(map(tuple, counts)) for counts in windows]))

    def drawn(world_size: int, steps: int) -> list[list[int]]:
        return [[draw.integer(1, 6) for _ in range(steps)] for _ in range(world_size)]

    if hidden:
        return [trial("one rank, four microbatches", [[1, 5, 2, 3]], [[4, 1, 1, 2]]),
                trial("two ranks, numbers of microbatches change", drawn(2, 4), drawn(2, 1)),
                trial("single items", [[1, 1, 1], [1, 1, 1]], [[1, 2], [1, 1]]),
                trial("float32, three ranks", drawn(3, 2), drawn(3, 3), dtype=torch.float32),
                trial("four ranks, three microbatches", drawn(4, 3), drawn(4, 2))]
    return [trial("one rank", [[2, 5]], [[3]]),
            trial("equal counts", [[3, 3], [3, 3]], [[2, 2], [2, 2]]),
            trial("one microbatch on each of two ranks", [[2], [6]], [[4], [1]]),
            trial("two ranks, three uneven microbatches", [[1, 4, 2], [6, 3, 5]], [[2, 1, 1], [1, 7, 3]]),
            trial("float32", [[4, 1], [2, 6]], [[1, 3], [5, 2]], dtype=torch.float32),
            trial("three ranks", [[1, 3], [5, 2], [2, 2]], [[4, 1], [1, 2], [6, 3]]),
            trial("four ranks", [[1, 4], [2, 1], [6, 3], [2, 2]], [[3], [1], [2], [5]])]


def _balanced_losses(models: nn.ModuleDict, inputs: Tensor, targets: Tensor) -> Tensor:
    outputs, _ = models["model"](inputs)
    return 0.5 * ((outputs - targets) ** 2).sum(-1)


def _two_terms(counts: Counts, parts: Sequence[tuple[Tensor, Tensor]], weight: float) -> TwoTerms:
    inputs = [part[0].double() for part in parts]

    def terms(models: nn.ModuleDict) -> Tensor:
        return weight * torch.stack([models["model"](microbatch)[1] for microbatch in inputs])

    return TwoTerms(UpdateWindow.from_counts(counts), _joined(parts), lambda models: terms(models).mean(),
                    terms=terms, term_window=UpdateWindow.from_counts([[1] * len(row) for row in counts]))


def rule_on_two_terms(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The rule of training; a wrong update is read as a sum of two terms, each with dials of its own."""
    reasons = rule_on_training(trial, outcomes)
    if not reasons or diagnosis.tier(reasons[0].key) < diagnosis.tier("second-term-misweighted"):
        return reasons
    calls = wire.decode(outcomes[0].result)["calls"]
    for record, expected in zip(calls, trial.expected.calls, strict=True):
        (update,) = expected.updates
        if named := _terms_named(trial.expected, update, *record["snapshots"][:2]):
            return [*named, *reasons]
    return reasons


def _terms_named(training: Training, update: TwoTerms, before: Tensor, after: Tensor) -> list[Reason]:
    models, rtol = models_at(training.models, before), 10 * TOLERANCE[before.dtype]
    made = (before.double() - after.double()) / training.lr
    items = per_item_gradients(models, training.item_losses, *update.batch)
    terms = per_item_gradients(models, update.terms)
    found = dials.explain_two_terms(made, items, update.window, terms, update.term_window, rtol)
    if found[0].key is None:
        return []
    if found[0].key != "unexplained":
        return reasons_of(found, update.window)
    rest, right = made - update.window.expected_weights @ items, terms.mean(0)
    shares = torch.tensor([n / update.window.item_count for row in update.window.counts for n in row])
    by_items, factor = shares.double() @ terms, float(rest @ right / (right @ right))
    bound = rtol * float(made.abs().max())
    if float((rest - by_items).abs().max()) <= bound:
        how = "each microbatch counted by its items; every one of the P·K microbatches should weigh the same"
    elif float((rest - factor * right).abs().max()) <= bound:
        how = f"as a whole it weighed {factor:.4g} and should weigh 1 ({len(terms)} parts)"
    elif float((rest - _along(terms, rest)).abs().max()) <= bound:
        how = f"its {len(terms)} parts do not weigh the same, 1/{len(terms)} each"
    else:
        return []
    return [Reason("second-term-misweighted", f"The items weigh what they should.\nThe second term does not: {how}.")]


def _along(rows: Tensor, vector: Tensor) -> Tensor:
    """The part of a vector [D] that is a weighted sum of the rows [M, D], whether these depend on each other or not."""
    return vector @ torch.linalg.pinv(rows, rtol=1e-9) @ rows


# ---- repair_wrapped_sampler

def _repair_wrapped_sampler(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, world_size: int, *sizes: int, dtype: torch.dtype = torch.float64) -> Trial:
        """Each size M is one call: M examples that all ranks hold."""
        model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
        calls, expected = [], []
        for size in sizes:
            batch = _joined([_batch(draw, 1, place, dtype) for place in range(size)])
            calls.append([["@model", *batch, "@optimizer"]] * world_size)
            expected.append(ExpectedCall((ExpectedUpdate(_dealt(size, world_size), batch),)))
        training = Training({"model": model}, _LR, squared_losses, tuple(expected))
        counts = [_dealt(size, world_size).rank_counts for size in sizes]
        return training_trial(name, training, calls, counts=_by_rank(counts), warm=_warm(dtype))

    if hidden:
        return [trial("one rank, one example", 1, 1, 9), trial("two ranks, one example", 2, 1, 5),
                trial("three ranks, one too few", 3, 5, 2),
                trial("float32, one too many", 3, 4, 10, dtype=torch.float32),
                trial("four ranks, one too many", 4, draw.integer(2, 3) * 4 + 1, 3),
                trial("four ranks, one example", 4, 1, 6)]
    return [trial("one rank", 1, 5, 3), trial("equal counts", 2, 6, 4), trial("two ranks, odd numbers", 2, 5, 7),
            trial("fewer examples than ranks", 3, 2, 1), trial("three ranks", 3, 7, 8),
            trial("float32", 3, 4, 5, dtype=torch.float32), trial("four ranks", 4, 5, 11),
            trial("four ranks, three examples", 4, 3, 8)]


def _dealt(size: int, world_size: int) -> UpdateWindow:
    """Examples dealt like cards, in their order: slot i is on rank i mod P."""
    return UpdateWindow(tuple(i % world_size for i in range(size)), world_size=world_size)


def _cut(size: int, world_size: int) -> UpdateWindow:
    """Examples cut into pieces of ⌈M/P⌉, the last ones shorter or empty."""
    length = -(-size // world_size)
    return UpdateWindow(tuple(i // length for i in range(size)), world_size=world_size)


def _split(size: int, world_size: int) -> UpdateWindow:
    """Examples cut into pieces whose lengths differ by 1 at most."""
    pieces = torch.tensor_split(torch.arange(size), world_size)
    return UpdateWindow(tuple(rank for rank, piece in enumerate(pieces) for _ in piece), world_size=world_size)


def rule_on_shards(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The rule of training and the rows of each rank. Who takes which examples is free: a wrong update is read for
    each usual way to share them."""
    readings = [rule_on_training(_shared(trial, way), outcomes, work_is_shared) for way in (_dealt, _cut, _split)]
    unnamed = ("unexplained", "parameter-groups-differ")
    best = min(readings, key=lambda reasons: bool(reasons) and reasons[0].key in unnamed)
    return [*_copies_named(trial, outcomes), *best] if best and best[0].key in unnamed else best


def _copies_named(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """Whether the weights of an update are whole numbers of equal rows: how often each example was dealt."""
    training = trial.expected
    for record, call in zip(wire.decode(outcomes[0].result)["calls"], training.calls, strict=True):
        (update,) = call.updates
        before, after = record["snapshots"][:2]
        models, rtol = models_at(training.models, before), 10 * TOLERANCE[before.dtype]
        gradients = per_item_gradients(models, training.item_losses, *update.batch)
        made = (before.double() - after.double()) / training.lr
        rows = trial.world_size * -(-update.window.item_count // trial.world_size)
        copies = recover_weights(made, gradients, rtol=rtol).weights * rows
        if copies.isfinite().all() and bool((copies - copies.round()).abs().max() <= 1e-3) and copies.max() > 1.5:
            dealt = ", ".join(f"{count:.0f}" for count in copies.tolist())
            return [Reason("duplicated-items", f"{rows} rows were averaged, and examples were dealt unequally often.\n"
                           f"Example by example: {dealt} times; each should count once.",
                           tuple((copies / rows).tolist()), update.window)]
    return []


def _shared(trial: Trial, way: Callable[[int, int], UpdateWindow]) -> Trial:
    """The trial with its examples on other ranks."""
    def other(call: ExpectedCall) -> ExpectedCall:
        updates = (replace(u, window=way(u.window.item_count, trial.world_size)) for u in call.updates)
        return replace(call, updates=tuple(updates))

    return replace(trial, expected=replace(trial.expected, calls=tuple(map(other, trial.expected.calls))))


def work_is_shared(trial: Trial, number: int, expected: ExpectedCall, records: Sequence[dict]) -> list[Reason]:
    """A check: no rank forwards more than ⌈N/P⌉ rows."""
    count = expected.updates[0].window.item_count
    most = -(-count // trial.world_size)
    for rank, record in enumerate(records):
        if sum(record["rows"]) > most:
            return [Reason("work-not-shared", f"Rank {rank} forwarded {sum(record['rows'])} rows; {count} examples on "
                           f"{trial.world_size} ranks are at most {most} for each.\n"
                           "An update that every rank computes alone is right and gains nothing.")]
    return []


# ---- repair_context_count

def _repair_context_count(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, columns: int, *windows: Sequence[Sequence[str]], dtype: torch.dtype = torch.float64) -> Trial:
        """windows[c][d]: the sequences of data rank d, one letter for each token ("x" counts, "." does not); each is
        cut into `columns` equal parts, and part c is on rank d·C + c."""
        model = describe_model("layers", {"sizes": list(SIZES)}, draw.generator, dtype)
        calls, expected, counts = [], [], []
        for rows in windows:
            masks = [torch.stack([_mask(sequence).chunk(columns)[c] for sequence in sequences])
                     for sequences in rows for c in range(columns)]
            parts = [_tokens(draw, mask, rank, dtype) for rank, mask in enumerate(masks)]
            calls.append([["@model", *part, mask, "@optimizer", "@group:data"]
                          for part, mask in zip(parts, masks, strict=True)])
            counts.append([int(mask.sum()) for mask in masks])
            if sum(counts[-1]):
                batch = _joined([tuple(column[mask] for column in part)
                                 for part, mask in zip(parts, masks, strict=True)])
                window = UpdateWindow.from_masks([[mask] for mask in masks], groups=_data_groups(len(rows), columns))
                everything = OtherItems("padding-counted", "Tokens that do not count were learnt as well: the mask is "
                                        "missing in the sum.", UpdateWindow.from_counts([m.numel() for m in masks]),
                                        _joined([tuple(column.flatten(0, 1) for column in part) for part in parts]))
                expected.append(ExpectedCall((ExpectedUpdate(window, batch, mistaken=(everything,)),)))
        error = None if expected else Raises(ValueError, "no token of any rank is valid (N = 0)")
        training = Training({"model": model}, _LR, squared_losses, tuple(expected), error)
        groups = {"data": [list(group) for group in _data_groups(len(windows[0]), columns)]}
        return training_trial(name, training, calls, groups=groups, warm=_warm(dtype), counts=_by_rank(counts),
                              data_ranks=len(windows[0]), context_ranks=columns)

    if hidden:
        return [trial("one rank, all but one token masked", 1, [["..x.", "...."]], [["xxxx", "x..."]]),
                trial("two columns, the first without a token", 2, [["..xx", "...x"]], [["x.xx", "xx.x"]]),
                trial("two data ranks, one without a token", 1, [["....", "...."], ["x.xx", "...x"]],
                      [["xxx.", "...."], ["x...", "...."]]),
                trial("three columns", 3, [["xx....", "xxx..x"]], [["...x..", "......"]]),
                trial("no valid token on four ranks", 2, [["...."], ["...."]]),
                trial("four ranks, only one of them with tokens", 2, [["...."], ["..xx"]], [["xx.x"], [".xxx"]]),
                trial("float32, four columns", 4, [["xxx.x...", "x......."]], [["xxxxxxx.", ".x.x.x.x"]],
                      dtype=torch.float32),
                trial("four data ranks", 1, [["xxxx"], ["x..."], ["xx.."], ["...."]],
                      [["x..."], ["xx"], ["x"], ["xxx"]])]
    return [trial("one rank", 1, [["xx.x", "x..."]], [["xxxx", ".xx."]]),
            trial("equal counts", 2, [["xxxx"], ["xxxx"]], [["x..x"], ["x..x"]]),
            trial("two columns of one sequence", 2, [["xxx...", "xxxxx."]], [["xxxx..", "xx...."]]),
            trial("no valid token at all", 2, [["....", "...."]]),
            trial("two data ranks without context parallelism", 1, [["xx..", "x..."], ["xxxx", "xxx."]],
                  [["x.", ".x"], ["xxxxx", "x...."]]),
            trial("three columns, the last without a token", 3, [["xxxx..", "x.x..."]], [["xxxxx.", "xx...."]]),
            trial("two by two", 2, [["xxxxxx", "xxx..."], ["xxxx..", "x....."]],
                  [["xx....", "x....."], ["xxxxx.", "xxxx.."]]),
            trial("float32, two by two, a whole column without a token", 2, [["xx..", "x..."], ["xx..", "x..."]],
                  [["x.x.", "xxxx"], ["xxx.", "x..x"]], dtype=torch.float32)]


def rule_on_groups(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The rule of training. Where a column is one rank, or all ranks, a mistake about groups and a plain one come to
    the same: the plain one is told, unless only the other explains the trials in which they differ."""
    reasons = rule_on_training(trial, outcomes)
    return sorted(reasons, key=lambda reason: (diagnosis.tier(reason.key), reason.key == "wrong-group"))


def _mask(tokens: str) -> Tensor:
    return torch.tensor([letter == "x" for letter in tokens])


def _tokens(draw: Draw, mask: Tensor, rank: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Inputs [B, T/C, d_in] and targets [B, T/C, d_out]; those of tokens that do not count are far off."""
    inputs = draw.normal(*mask.shape, SIZES[0], dtype=dtype)
    targets = draw.normal(*mask.shape, SIZES[-1], mean=rank, dtype=dtype)
    return inputs, torch.where(mask[..., None], targets, targets + 6)


def _data_groups(data_ranks: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """The ranks that hold the same part of other sequences, for each context column."""
    return tuple(tuple(range(column, data_ranks * columns, columns)) for column in range(columns))


# ---- repair_expert_gradients

def _repair_expert_gradients(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, groups: Sequence[Sequence[int]], *windows: Sequence[int],
              dtype: torch.dtype = torch.float64) -> Trial:
        """The ranks of a group hold the same expert; each window, the counts of the ranks, is one call."""
        shared = describe_model("layers", {"sizes": list(SHARED_SIZES)}, draw.generator, dtype)
        experts = [describe_model("layers", {"sizes": list(EXPERT_SIZES)}, draw.generator, dtype) for _ in groups]
        home = _homes(groups)
        calls, expected = [], []
        for counts in windows:
            parts = [_batch(draw, n, rank, dtype) for rank, n in enumerate(counts)]
            calls.append([["@model", "@model:expert", *part, "@optimizer", "@group:expert"] for part in parts])
            if sum(counts):
                batch = *_joined(parts), torch.tensor([home[rank] for rank, n in enumerate(counts) for _ in range(n)])
                expected.append(ExpectedCall((ExpectedUpdate(UpdateWindow.from_counts(counts), batch),)))
        error = None if expected else Raises(ValueError, _NO_ITEM)
        models = {"model": shared, **{f"expert{number}": expert for number, expert in enumerate(experts)}}
        training = Training(models, _LR, _expert_losses, tuple(expected), error)
        drawn = training_trial(name, training, calls, groups={"expert": list(map(list, groups))}, warm=_warm(dtype),
                               counts=_by_rank(windows), expert_groups=list(map(list, groups)))
        return replace(drawn, arguments=tuple(
            ({**description, "models": {"model": shared, "expert": experts[home[rank]]}},)
            for rank, (description,) in enumerate(drawn.arguments)))

    pairs, neighbours = [[0, 2], [1, 3]], [[0, 1], [2, 3]]
    if hidden:
        return [trial("one rank, its expert alone", [[0]], [6], [1]),
                trial("two experts, rank 0 empty", [[0], [1]], [2, 3], [0, 4]),
                trial("three experts", [[0], [1], [2]], draw.uneven_counts(3), [1, 0, 2]),
                trial("float32, two experts, one of them without an item", [[0, 2], [1]], [1, 4, 2], [2, 0, 3],
                      dtype=torch.float32),
                trial("three ranks without an item", [[0, 1], [2]], [0, 0, 0]),
                trial("four ranks, three hold the same expert", [[0, 1, 3], [2]], draw.uneven_counts(4), [2, 0, 1, 5]),
                trial("four ranks, two empty", pairs, [0, 0, 3, 2], draw.uneven_counts(4))]
    return [trial("one rank", [[0]], [4], [2]),
            trial("equal counts", pairs, [2, 2, 2, 2], [3, 3, 3, 3]),
            trial("two ranks, one expert", [[0, 1]], [2, 6], [5, 1]),
            trial("two ranks, two experts", [[0], [1]], [2, 5], [4, 1]),
            trial("no item at all", [[0], [1]], [0, 0]),
            trial("three ranks, two experts", [[0, 1], [2]], [3, 1, 4], [2, 0, 1]),
            trial("float32, neighbours share an expert", neighbours, [1, 4, 2, 3], [5, 1, 1, 2], dtype=torch.float32),
            trial("four ranks, two experts", pairs, [1, 4, 2, 0], [3, 1, 5, 2])]


def _homes(groups: Sequence[Sequence[int]]) -> dict[int, int]:
    """The number of each rank's group."""
    return {rank: number for number, group in enumerate(groups) for rank in group}


def _expert_losses(models: nn.ModuleDict, inputs: Tensor, targets: Tensor, groups: Tensor) -> Tensor:
    """Item losses where item i goes through the shared model and the expert of its group, groups[i]."""
    hidden = models["model"](inputs)
    by_expert = torch.stack([models[f"expert{number}"](hidden) for number in range(len(models) - 1)])
    return 0.5 * ((by_expert[groups, torch.arange(len(inputs))] - targets) ** 2).sum(-1)


def rule_on_experts(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The rule of training over the parameters of all experts: a rank's own, and the others from where they are."""
    reasons = rule_on_training(trial, _with_all_experts(trial, outcomes))
    if not reasons or reasons[0].key != "parameter-groups-differ":
        return reasons
    return [*_stale_expert(trial, outcomes), *reasons]


def _stale_expert(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """Whether the gradients that stood in the expert before the call entered its update."""
    width = _shared_width(trial)
    for rank, outcome in enumerate(outcomes):
        for record in wire.decode(outcome.result)["calls"]:
            before, after = record["snapshots"][:2]
            if float((before - after)[width:].min()) > 0.05 * POISON * trial.expected.lr:
                return [Reason("stale-gradients", "The gradients that stood in .grad of the expert before the call "
                                                  f"entered the update of rank {rank}.\nClear those of both parts.")]
    return []


def _shared_width(trial: Trial) -> int:
    return sum(p.numel() for p in trial.arguments[0][0]["models"]["model"]["parameters"])


def _with_all_experts(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[RankOutcome]:
    """Outcomes whose vectors hold the shared model and every expert; those that ended without a result as they are."""
    groups = trial.facts["expert_groups"]
    if any(outcome.result is None for outcome in outcomes):
        return list(outcomes)
    results = [wire.decode(outcome.result) for outcome in outcomes]
    if len({len(result["calls"]) for result in results}) > 1:
        return list(outcomes)
    home = _homes(groups)
    width = _shared_width(trial)
    for records in zip(*(result["calls"] for result in results), strict=True):
        vectors = [(record["snapshots"], record["parameters"]) for record in records]
        for rank, record in enumerate(records):
            holders = [rank if number == home[rank] else group[0] for number, group in enumerate(groups)]
            own, last = vectors[rank]
            record["parameters"] = torch.cat([last[:width], *(vectors[h][1][width:] for h in holders)])
            record["snapshots"] = [
                torch.cat([one[:width], *(vectors[h][0][min(place, len(vectors[h][0]) - 1)][width:] for h in holders)])
                for place, one in enumerate(own)]
    return [replace(outcome, result=wire.encode(result)) for outcome, result in zip(outcomes, results, strict=True)]


EXERCISES = (
    Exercise("effective_weights", ASSIGNMENT, _effective_weights, ranks=False),
    Exercise("name_the_dials", ASSIGNMENT, _name_the_dials, ranks=False,
             stage="autograder.stages.window:call_with_counts"),
    Exercise("repair_reduced_loss", ASSIGNMENT, _repair_reduced_loss, stage=STAGE, rule=rule_on_training),
    Exercise("repair_auxiliary_term", ASSIGNMENT, _repair_auxiliary_term, stage=STAGE, rule=rule_on_two_terms),
    Exercise("repair_wrapped_sampler", ASSIGNMENT, _repair_wrapped_sampler, stage=STAGE, rule=rule_on_shards),
    Exercise("repair_context_count", ASSIGNMENT, _repair_context_count, stage=STAGE, rule=rule_on_groups),
    Exercise("repair_expert_gradients", ASSIGNMENT, _repair_expert_gradients, stage=STAGE, rule=rule_on_experts),
)
