"""Assignment 2, `sum_or_mean`: which divisor goes with which reduction, and the ring that adds.

With equal shards the update is c·∇L, c = B·ρ/d for a loss divisor d and a reduction ρ (1 for a sum, 1/P for a mean). A
ring all-reduce of a payload of s bytes sends 2(P−1)s/P bytes per rank, in 2(P−1) steps (lesson 2). The functions that
communicate are judged by their values first; where those are right, the ledger says whether the way was the one asked.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from autograder.diagnosis import Reason
from autograder.exercises.record import Draw, Exercise, Holds, Raises, Trial, counts_words
from autograder.exercises.rules import agrees, identical, misfit, rule_on, rule_on_behaviour, rule_on_error, shown
from autograder.ranks import wire
from autograder.ranks.ledger import Call
from autograder.ranks.report import RankOutcome, ranks_words
from autograder.ranks.wire import Opaque

ASSIGNMENT = "sum_or_mean"
_WORDS = ("global", "local"), ("sum", "mean")
_SCALE_BOUND, _FACTOR_BOUND = 1e-6, 1e-5


def _own_calls(outcome: RankOutcome) -> list[Call]:
    """The function's calls that move data."""
    return [call for call in outcome.calls if call.own and call.name != "barrier"]


def _distinct(right: object, mistakes: Sequence[tuple[str, object, str]]) -> tuple[tuple[Reason, object], ...]:
    """Wrong values that have a name (key, value, why), as a trial's `mistakes`; those that do not show left out."""
    return tuple((Reason(key, f"It returned {shown(value)}; right is {shown(right)}.\n{why}"), value)
                 for key, value, why in mistakes if not agrees(value, right))


# ---- gradient_factor

def _gradient_factor(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(loss_divisor: str, reduction: str, world_size: int) -> Trial:
        row = {("global", "sum"): 1.0, ("local", "mean"): 1.0,
               ("global", "mean"): 1 / world_size, ("local", "sum"): float(world_size)}
        right = row[loss_divisor, reduction]
        due = f"{loss_divisor} divisor, {reduction} over {world_size} ranks"
        mistakes = [("wrong-answer", 1 / right, f"{due}: that is the inverse. The factor multiplies ∇L; it does not "
                                                "repair it.")]
        mistakes += [("wrong-answer", value, f"{due}: an item's gradient must be divided by B once in all. Count the "
                      "divisions.") for value in (1 / world_size, 1.0, float(world_size))]
        return Trial(due, ((loss_divisor, reduction, world_size),), right, mistakes=_distinct(right, mistakes))

    def error(loss_divisor: object, reduction: object, world_size: int, why: str) -> Trial:
        call = f"gradient_factor({loss_divisor!r}, {reduction!r}, {world_size})"
        return Trial(call, ((loss_divisor, reduction, world_size),), Raises(ValueError, f"in {call} {why}"))

    every = [(divisor, reduction) for divisor in _WORDS[0] for reduction in _WORDS[1]]
    if hidden:
        return [*(trial(*words, draw.integer(9, 4000)) for words in every),
                trial("global", "mean", 3), trial("local", "sum", 2),
                error("Global", "sum", 4, "\"Global\" is neither \"global\" nor \"local\""),
                error("local", "average", 4, "\"average\" is neither \"sum\" nor \"mean\""),
                error("", "mean", 2, "the divisor is an empty word"),
                error("local", "mean", -3, "there are fewer than 1 ranks"),
                error("local ", "sum", 1, "\"local \" ends with a blank")]
    return [*(trial(*words, 8) for words in every), trial("global", "mean", 3), trial("local", "sum", 1),
            error("sum", "global", 4, "the two words stand in the wrong order"),
            error("local", "avg", 4, "\"avg\" is neither \"sum\" nor \"mean\""),
            error("global", "sum", 0, "there are fewer than 1 ranks")]


# ---- mean_all_reduce

def _mean_all_reduce(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(name: str, tensors: list[Tensor]) -> Trial:
        size, kind = len(tensors), str(tensors[0].dtype)[6:]
        stacked = torch.stack(tensors)
        total = stacked.double().sum(0)
        mistakes = [("never-divided", total, f"That is the sum over the {size} ranks: nobody divided by {size}."),
                    ("divided-twice", total / size**2, f"The mean has been divided by {size} once more.")]
        if not stacked.is_floating_point():
            wrapped = stacked.sum(0, dtype=stacked.dtype)
            mistakes += [("overflow-or-truncation", value, f"The sum is more than {kind} can hold, and wrapped around: "
                          "convert before you add.") for value in (wrapped.double() / size, (wrapped // size).double())]
            floors = (total / size).floor(), (total / size).trunc(), (stacked // size).double().sum(0)
            mistakes += [("overflow-or-truncation", value, "The mean lost its fraction to an integer division.")
                         for value in floors]
        return Trial(name, tuple((tensor,) for tensor in tensors), total / size,
                     mistakes=_distinct(total / size, mistakes))

    def floats(size: int, *shape: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        return [draw.normal(*shape, mean=2.0 * (rank % 3) + 1.0, dtype=dtype) for rank in range(size)]

    def integers(size: int, low: int, high: int, dtype: torch.dtype) -> list[Tensor]:
        """Numbers whose mean has a fraction."""
        drawn = [[draw.integer(low, high) for _ in range(3)] for _ in range(size)]
        for place in range(3):
            while sum(row[place] for row in drawn) % size == 0:
                drawn[-1][place] = draw.integer(low, high)
        return [torch.tensor(row, dtype=dtype) for row in drawn]

    if hidden:
        return [trial("a scalar tensor", floats(2)), trial("a matrix on three ranks", floats(3, 4, 2)),
                trial("int64 beyond what int64 can add", integers(3, 7 * 2**59, 2**62, torch.int64)),
                trial("small int32 numbers", integers(2, -9, -1, torch.int32)),
                trial("float32 on three ranks", floats(3, 5, dtype=torch.float32)),
                trial("uint8 on eight ranks", integers(8, 100, 255, torch.uint8)),
                trial("large numbers on four ranks", [1e9 * tensor for tensor in floats(4, 3)])]
    return [trial("one rank", floats(1, 3)), trial("one rank, int64", [torch.tensor([3, -1, 4])]),
            trial("two ranks", floats(2, 4)),
            trial("int32 numbers whose sum is more than int32 can hold",
                  integers(2, 3 * 2**29, 2**31 - 1, torch.int32)),
            trial("uint8, a matrix", [tensor[:, None] for tensor in integers(3, 100, 255, torch.uint8)]),
            trial("three ranks, a matrix", floats(3, 2, 3)),
            trial("int64, negative", integers(4, -50, -1, torch.int64)),
            trial("float32 on four ranks", floats(4, 3, dtype=torch.float32)), trial("eight ranks", floats(8, 2))]


def rule_on_sum_only(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The general rule; then: nothing but sums (all_reduce, or reduce and broadcast) crossed the ranks.

    The ledger does not know the operation of a collective issued below Python; it counts as a sum."""
    if reasons := rule_on(trial, outcomes):
        return reasons
    way = "Add with ReduceOp.SUM (all_reduce, or reduce and broadcast), then divide by world_size."
    for outcome in outcomes:
        calls = _own_calls(outcome)
        for call in calls:
            reducing = call.name in ("all_reduce", "reduce")
            if (reducing and call.op not in ("sum", None)) or not (reducing or call.name == "broadcast"):
                return [Reason("forbidden-operation", f"The mean is right, but rank {outcome.rank} called {call}.\n"
                                                      f"{way}")]
        if trial.world_size > 1 and not any(call.name in ("all_reduce", "reduce") for call in calls):
            did = f"called {counts_words([call.name for call in calls[:4]])}" if calls else "communicated nothing"
            return [Reason("forbidden-operation", f"The mean is right, but rank {outcome.rank} took part in no "
                                                  f"reduction: it {did}.\n{way}")]
    return []


# ---- reduce_gradients

_Gradients = Sequence[Sequence["Tensor | None"]]  # [rank][parameter]


def _reduce_gradients(draw: Draw, hidden: bool) -> list[Trial]:
    float64, float32 = torch.float64, torch.float32

    def trial(name: str, word: str, size: int, shapes: Sequence[tuple[int, ...]], *, none: Sequence[tuple] = (),
              dtypes: Sequence[torch.dtype] = (float64,), handed_as: str = "list", frozen: Sequence[int] = ()) -> Trial:
        """none: (rank, place) of gradients that are None; frozen: places without a gradient on any rank."""
        kinds = [dtypes[place % len(dtypes)] for place in range(len(shapes))]
        parameters = [draw.normal(*shape, dtype=kind) for shape, kind in zip(shapes, kinds, strict=True)]
        gradients = [[None if (rank, place) in none or place in frozen else
                      draw.normal(*shape, mean=rank + 1.0 + place, dtype=kinds[place])
                      for place, shape in enumerate(shapes)] for rank in range(size)]
        arguments = tuple(({"parameters": parameters, "gradients": own, "frozen": list(frozen), "handed_as": handed_as},
                           word) for own in gradients)
        facts = {"loss_divisor": word, "parameters": handed_as}
        if word not in _WORDS[0]:
            return Trial(name, arguments, Raises(ValueError, f"{word!r} is neither \"global\" nor \"local\""),
                         facts=facts)
        right = _added(gradients, size if word == "local" else 1)
        return Trial(name, arguments, tuple(right), facts=facts)

    two, three = [(2, 3), (3,)], [(2, 3), (3,), ()]
    if hidden:
        return [trial("one rank, local", "local", 1, two, none=[(0, 1)]),
                trial("many parameters, a generator, global", "global", 2, [(1 + place % 4,) for place in range(12)],
                      handed_as="generator", dtypes=(float64, float32)),
                trial("nothing has a gradient", "local", 2, two, frozen=[0, 1]),
                trial("no parameter at all", "global", 2, []),
                trial("an empty word", "", 2, two),
                trial("a word in capitals, no parameter at all", "LOCAL", 2, []),
                trial("rank 0 has no gradient at all, global", "global", 3, three, none=[(0, 0), (0, 1), (0, 2)]),
                trial("float32 before float64, dict values, local", "local", 3, three, dtypes=(float32, float64),
                      none=[(1, 1)], handed_as="dict values"),
                trial("each gradient on one of four ranks only, local", "local", 4, [*three, (4,)],
                      none=[(r, p) for r in range(4) for p in range(4) if r != p], handed_as="tuple"),
                trial("eight ranks, local, some None", "local", 8, two, none=[(1, 0), (6, 0), (7, 1)])]
    return [trial("one rank, global", "global", 1, two), trial("global", "global", 2, two),
            trial("local", "local", 2, two),
            trial("local, a generator", "local", 2, three, handed_as="generator"),
            trial("another word", "sum", 2, two),
            trial("global, mixed dtypes", "global", 3, three, dtypes=(float64, float32), handed_as="module"),
            trial("local, .grad None on some ranks", "local", 3, [*two, (4,)], none=[(1, 0), (0, 2), (2, 2)]),
            trial("local, a parameter without a gradient on any rank", "local", 4, three, frozen=[1],
                  none=[(3, 0)], dtypes=(float32, float64)),
            trial("eight ranks, global", "global", 8, [(2, 2)], handed_as="tuple")]


def _added(gradients: _Gradients, divisor: float = 1) -> list[Tensor | None]:
    """The sum over ranks, in float64, divided by `divisor`; None where no rank has a gradient."""
    return [sum(g.double() for g in column if g is not None) / divisor if any(g is not None for g in column) else None
            for column in zip(*gradients, strict=True)]


def rule_on_gradients(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """[] if every `.grad` is ∇L on every rank, and the rest as it was."""
    if isinstance(trial.expected, Raises):
        return rule_on_error(trial, outcomes) or _touched(trial, outcomes)
    if behaviour := rule_on_behaviour(trial, outcomes):
        return behaviour
    results = [wire.decode(outcome.result) for outcome in outcomes]
    for rank, result in enumerate(results):
        given = trial.arguments[rank][0]
        trains = [place not in given["frozen"] for place in range(len(given["parameters"]))]
        if not identical(given["parameters"], result["parameters"]) or result["requires_grad"] != trains:
            return [Reason("changed-its-argument", f"Rank {rank} changed its parameters, not only their .grad.\nHere "
                                                   "gradients are reduced; the step is somebody else's.")]
    return _rule_on_reduced(trial, [result["gradients"] for result in results])


def _touched(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """After the due exception every `.grad` must be what it was."""
    for outcome in outcomes:
        left = wire.decode(outcome.result) if outcome.result else None
        if left and not identical(trial.arguments[outcome.rank][0]["gradients"], left["gradients"]):
            return [Reason("changed-its-argument", f"Rank {outcome.rank} raised the error, but after it had changed "
                                                   "gradients.\nLook at the word before you touch anything.")]
    return []


def _rule_on_reduced(trial: Trial, got: _Gradients) -> list[Reason]:
    given = [arguments[0]["gradients"] for arguments in trial.arguments]
    handed_as, word = trial.arguments[0][0]["handed_as"], trial.arguments[0][1]
    wrong: list[int] = []
    for place, right in enumerate(trial.expected):
        column = [gradients[place] for gradients in got]
        for rank, value in enumerate(column):
            if right is not None and value is None:
                if given[rank][place] is not None:
                    return [Reason("gradients-lost", f"Rank {rank} has no .grad on parameter {place} any more.")]
                return [Reason("not-synchronized", f"Parameter {place} had .grad None on rank {rank}, and still has; "
                               "other ranks have a gradient.\nNone counts as zeros there, and every rank must end with "
                               "the same gradient.")]
            if problem := misfit(value, right):
                return [Reason(problem[0], f"On rank {rank} the .grad of parameter {place} is {problem[1]}."
                               + ("\nNo rank has a gradient there: None on all stays None." if right is None else ""))]
        if right is not None and not all(agrees(value, right) for value in column):
            wrong.append(place)
    if not wrong:
        return []
    place = wrong[0]
    due = trial.expected[place]
    rank, value = next((r, g[place]) for r, g in enumerate(got) if not agrees(g[place], due))
    numbers = f"Rank {rank} has {shown(value)} in the .grad of parameter {place}; right is {shown(due)}."
    readings = {key: (why, set(_places(trial, got, reading))) for key, why, reading in _readings(trial, given, word)}
    held = {at for at, right in enumerate(trial.expected) if right is not None}
    for key, (why, places) in readings.items():
        if places == held:
            walked = "\nparameters was a generator: it can be walked through once." \
                if key == "missing-synchronization" and handed_as in ("generator", "module") else ""
            return [Reason(key, f"{why}\n{numbers}{walked}")]
    fallback = Reason("wrong-answer", numbers)
    differing = next(((p, r) for p in wrong for r in range(1, len(got)) if not agrees(got[r][p], got[0][p].double())),
                     None)
    of_others = [(at, why) for why, places in readings.values() for at in sorted(places) if at in wrong]
    if len({at for at, _ in of_others}) == len(wrong):
        at, why = of_others[0]
        told = [Reason("parameter-groups-differ", f"Not all parameters are treated alike. On parameter {at}: "
                       f"{why[0].lower()}{why[1:]}\n{numbers}")]
        return [*told, fallback]
    if differing is not None:
        at, other = differing
        return [Reason("not-synchronized", f"The ranks do not agree on parameter {at}: rank 0 has "
                       f"{shown(got[0][at])} and rank {other} {shown(got[other][at])}.\nEvery rank must end with the "
                       f"same gradient, {shown(trial.expected[at])}."), fallback]
    return [fallback]


def _places(trial: Trial, got: _Gradients, reading: Callable[[int], list]) -> Iterator[int]:
    """The parameters on which every rank holds what `reading(rank)` says."""
    said = [reading(rank) for rank in range(trial.world_size)]
    for place, right in enumerate(trial.expected):
        if right is not None and all(agrees(got[rank][place], said[rank][place]) for rank in range(trial.world_size)):
            yield place


def _readings(trial: Trial, given: _Gradients, word: str) -> Iterator[tuple[str, str, Callable[[int], list]]]:
    """Mistakes with a name: key, sentence, and what each rank would hold."""
    size = trial.world_size
    own = [[torch.zeros_like(right) if g is None else g.double() for g, right in zip(
        row, (torch.zeros(()) if r is None else r for r in trial.expected), strict=True)] for row in given]
    holders = [max(sum(g is not None for g in column), 1) for column in zip(*given, strict=True)]
    total = _added(given)
    active = [None if t is None else t / n for t, n in zip(total, holders, strict=True)]
    if size == 1:
        return
    yield ("missing-synchronization", "Every rank still holds its own gradient: nothing was reduced.",
           lambda rank: own[rank])
    if word == "local":
        yield ("sum-of-rank-means", f"Local means were added and never divided by the number of ranks: {size} times "
                                    "∇L.", lambda rank: total)
        yield ("divided-twice", f"The mean over the {size} ranks was divided by {size} once more.",
               lambda rank: _added(given, size**2))
        if any(n < size for n in holders):
            yield ("active-ranks", "The sum was divided by the number of ranks that have a gradient, not by all "
                                   f"{size}: a None counts as zeros, and zeros are part of a mean.",
                   lambda rank: active)
    else:
        yield ("global-divisor-then-mean", f"The loss had been divided by all B items, and the mean over ranks divides "
               f"by {size} once more: ∇L/{size}.", lambda rank: _added(given, size))
    for lost in range(size):
        rest = _added([row for rank, row in enumerate(given) if rank != lost], size if word == "local" else 1)
        yield ("rank-lost", f"The gradients of rank {lost} are not in the result.",
               lambda rank, rest=rest: [r if r is not None else torch.zeros_like(t) if t is not None else None
                                        for r, t in zip(rest, total, strict=True)])


# ---- scale_error

def _scale_error(draw: Draw, hidden: bool) -> list[Trial]:
    nan, inf = float("nan"), float("inf")

    def scaled(name: str, reference: Tensor, c: float, away: float = 0.0) -> Trial:
        """An update c·reference, plus `away` times its length at right angles to it."""
        update = c * reference
        if away:
            update = update + away * update.norm() * _across(draw, reference)
        why = f"update = {c:.6g}·reference" + (f", up to {away:.1g} of the update's length: rounding" if away else "")
        return Trial(name, ((reference, update),), Holds(lambda value: _judge_scale(value, c, why, away)))

    def none(name: str, reference: Tensor, update: Tensor, why: str, away: float = 0.0) -> Trial:
        return Trial(name, ((reference, update),), Holds(lambda value: _judge_scale(value, None, why, away)))

    def off(name: str, reference: Tensor, c: float, away: float) -> Trial:
        update = c * reference
        update = update + away * update.norm() * _across(draw, reference)
        return none(name, reference, update, f"the best factor leaves {away:.1g} of the update's length, more than "
                                             f"{_SCALE_BOUND:.0e}", away)

    reference = draw.normal(6, mean=1.0)
    gaps = reference * torch.tensor([1.0, 0, 1, 0, 1, 1], dtype=torch.float64)
    if hidden:
        matrix = draw.normal(3, 4)
        return [scaled("a matrix, 16 times too long", matrix, 16.0), scaled("a matrix, -3 times", matrix, -3.0),
                scaled("a first element of zero", gaps.roll(-1), 0.25),
                scaled("float32, 1/3", draw.normal(5, mean=2.0).float(), 1 / 3),
                scaled("a single element", torch.tensor([3.0], dtype=torch.float64), -0.5),
                scaled("a reference of norm 1e-8", 1e-8 * reference, 4.0),
                scaled("an update 1e5 times as long, off by rounding", reference, 1e5, 5e-8),
                off("an update 1e-5 times as long, in another direction", reference, 1e-5, 0.3),
                off("almost: off by 2e-5 of the update's length", draw.normal(50), 8.0, 2e-5),
                off("both of length 1e-9, another direction", 1e-9 * reference, 1.0, 0.5),
                none("an update where the reference has zeros", gaps, reference.clone(),
                     "the reference has zeros where the update has none"),
                none("at right angles", reference, _across(draw, reference), "the best factor, 0, leaves all of it"),
                none("a matrix, transposed", matrix, matrix.T.contiguous(), "the shapes differ"),
                none("the same numbers in another shape", matrix, matrix.reshape(4, 3), "the shapes differ"),
                none("Inf in both", torch.tensor([1.0, inf]), torch.tensor([1.0, inf]), "Inf is not finite"),
                none("NaN in the reference", torch.tensor([1.0, nan]), torch.tensor([1.0, 2.0]), "NaN is not finite"),
                none("NaN in a zero update", torch.tensor([1.0, 2.0]), torch.tensor([0.0, nan]), "NaN is not finite"),
                none("zeros only, in both", torch.zeros(3), torch.zeros(3), "the reference is zero"),
                none("a zero update of another shape", reference, torch.zeros(1, dtype=torch.float64),
                     "the shapes differ"),
                scaled("a reference whose elements sum to 0", torch.tensor([3.0, -1.0, -2.0]), 4.0)]
    other = reference + draw.normal(6)
    return [scaled("equal", reference, 1.0), scaled("8 times too long", reference, 8.0),
            scaled("1/8", reference, 0.125, 3e-8), scaled("a zero update", reference, 0.0),
            scaled("the sign turned", reference, -1.0),
            scaled("zeros in both", gaps, 8.0),
            none("wrong weights", reference, other, "no factor turns the reference into this update"),
            none("4 times the reference, and 1 more everywhere", reference, 4 * reference + 1,
                 "a factor alone does not give it"),
            none("equally long, another direction", reference, reference.flip(0), "the direction differs"),
            off("off by 2e-5 of the update's length", reference, 0.125, 2e-5),
            off("an update 1e-4 times as long, off by 1e-4 of its length", reference, 1e-4, 1e-4),
            none("a zero reference", torch.zeros(4, dtype=torch.float64), draw.normal(4), "the reference is zero"),
            none("a shape that would broadcast", torch.ones(3, dtype=torch.float64),
                 2 * torch.ones(1, dtype=torch.float64), "the shapes differ"),
            none("NaN in the update", torch.tensor([1.0, 2.0]), torch.tensor([1.0, nan]), "NaN is not finite")]


def _across(draw: Draw, reference: Tensor) -> Tensor:
    """A unit tensor at right angles to `reference`."""
    other = draw.normal(*reference.shape).to(reference.dtype)
    other = other - (other * reference).sum() / reference.norm() ** 2 * reference
    return other / other.norm()


def _judge_scale(value: object, due: float | None, why: str, away: float) -> Reason | None:
    """away: how far, in its own lengths, the update lies off the reference's direction where that is the question."""
    if due is None:
        if value is None:
            return None
        kind = f"{value:.6g}" if type(value) in (int, float) else f"a {_type_name(value)}"
        return Reason("wrong-tolerance" if away else "should-be-none",
                      f"The function returned {kind} where None is right: {why}.")
    if value is None:
        return Reason("wrong-tolerance" if away else "wrong-answer",
                      f"The function returned None; right is {due:.6g}: {why}.")
    if type(value) not in (int, float):
        return Reason("wrong-type", f"The function returned a {_type_name(value)} where a float or None is asked.")
    if abs(value - due) <= _FACTOR_BOUND * abs(due):
        return None
    inverse = "\nThat is the other way round: c multiplies the reference." if due and abs(value * due - 1) <= 1e-4 \
        else "\nThe sign is lost." if abs(value + due) <= _FACTOR_BOUND * abs(due) else ""
    return Reason("wrong-answer", f"The function returned {value:.6g}; right is {due:.6g}: {why}.{inverse}")


def _type_name(value: object) -> str:
    return value.type_name if isinstance(value, Opaque) else type(value).__name__


# ---- ring_all_reduce

def _ring_all_reduce(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(size: int, n: int, name: str = "", dtype: torch.dtype = torch.float64) -> Trial:
        tensors = [draw.normal(n, mean=2.0 * (rank % 3) + 1.0, dtype=dtype) for rank in range(size)]
        total = torch.stack(tensors).double().sum(0)
        mistakes = [("divided-by-world-size", total / size, f"That is the mean over the {size} ranks.")]
        for at, tensor in enumerate(tensors if size > 1 else []):
            mistakes += [("rank-lost", total - tensor.double(), f"The tensor of rank {at} is not in the sum."),
                         ("duplicated-items", total + tensor.double(), f"The tensor of rank {at} is in it twice.")]
        ranks = "one rank" if size == 1 else f"{size} ranks"
        return Trial(name or f"{n} elements on {ranks}", tuple((tensor,) for tensor in tensors), total,
                     mistakes=_distinct(total, mistakes), facts={"elements": n})

    if hidden:
        return [trial(1, 0, "an empty tensor on one rank"), trial(2, 1, "one element on two ranks"),
                trial(3, draw.integer(6, 9) * 3 + 1), trial(3, draw.integer(6, 9) * 3 + 2),
                trial(4, 4096, "4096 elements on four ranks"), trial(4, 2, "2 elements on four ranks"),
                trial(4, 0, "an empty tensor on four ranks"), trial(5, 12, dtype=torch.float32),
                trial(8, 61)]
    return [trial(1, 5), trial(2, 6), trial(2, 7), trial(3, 12), trial(3, 10, dtype=torch.float32),
            trial(2, 0, "an empty tensor"), trial(4, 10), trial(4, 3, "fewer elements than ranks"), trial(8, 20)]


def rule_on_ring(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The general rule; then the ring's traffic: tensors sent to one neighbour, at most 2(P−1)·⌈n/P⌉ elements per
    rank, and in all no fewer than any all-reduce of single messages needs, 2(P−1)·n."""
    if reasons := rule_on(trial, outcomes):
        return [*_all_send(outcomes, reasons), *_alone(trial, reasons), *reasons]
    size, n = trial.world_size, trial.facts["elements"]
    calls = {outcome.rank: _own_calls(outcome) for outcome in outcomes}
    sent = {rank: sum(call.elements for call in own if call.name == "send") for rank, own in calls.items()}
    for rank, own in calls.items():
        for call in own:
            if not call.point_to_point:
                return [Reason("forbidden-operation", f"The sum is right, but rank {rank} called {call}.\nHere the "
                               "ring is yours to build: send and receive tensors, nothing else.")]
            if call.name == "send" and call.dtype == "uint8":
                return [Reason("forbidden-operation", f"The sum is right, but rank {rank} sent Python objects: {call}."
                                                      "\nSend the chunks themselves, as tensors.")]
        peers = sorted({call.peer for call in own if call.name == "send"})
        if len(peers) > 1:
            return [Reason("forbidden-operation", f"The sum is right, but rank {rank} sent to {ranks_words(peers)}.\n"
                                                  "In a ring every rank sends to one neighbour only.\n"
                                                  + _traffic(trial, sent))]
    most = 2 * (size - 1) * -(-n // size)
    over = [rank for rank, elements in sent.items() if elements > most]
    if over:
        return [Reason("sent-too-much", f"The sum is right, but {ranks_words(over)} sent more than the ring of chunks "
                                        f"needs.\n{_traffic(trial, sent)}")]
    if sum(sent.values()) < 2 * (size - 1) * n:
        return [Reason("sent-too-little", "The sum is right, but too few elements were sent to get it: it came another "
                                          f"way.\n{_traffic(trial, sent)}")]
    return []


def _all_send(outcomes: Sequence[RankOutcome], reasons: Sequence[Reason]) -> list[Reason]:
    """Why ranks wait that all want to send."""
    pending = [call.name for outcome in outcomes for call in outcome.pending]
    if reasons[0].key != "deadlock" or set(pending) != {"send"}:
        return []
    return [Reason("deadlock", f"{reasons[0].sentence}\nA send ends when the other rank receives, and none does: send "
                               "and receive at once (isend).")]


def _alone(trial: Trial, reasons: Sequence[Reason]) -> list[Reason]:
    """What gloo means by "Pair is not connected" where there is one rank."""
    if trial.world_size > 1 or reasons[0].key != "raised" or "Pair is not connected" not in reasons[0].sentence:
        return []
    where = reasons[0].sentence.partition(":")[0]
    return [Reason("raised", f"{where}: a rank cannot send to itself, nor receive from itself.\nA ring of one rank has "
                             "no step: 2(P−1) = 0. Its tensor is the sum.")]


def _traffic(trial: Trial, sent: dict[int, int]) -> str:
    """Each rank's bytes beside those of the ideal ring."""
    size, n = trial.world_size, trial.facts["elements"]
    width = trial.arguments[0][0].element_size()
    payload, most = n * width, 2 * (size - 1) * -(-n // size)
    groups: dict[int, list[int]] = {}
    for rank, elements in sent.items():
        groups.setdefault(elements, []).append(rank)
    said = "; ".join(f"{ranks_words(ranks)} {elements} elements = {elements * width} bytes"
                     for elements, ranks in groups.items())
    return (f"Sent: {said}.\nIdeal is 2(P−1)/P·s = {2 * (size - 1) / size:.4g} · {payload} = "
            f"{2 * (size - 1) * payload / size:.6g} bytes per rank; at most 2(P−1)·⌈n/P⌉ = {most} elements = "
            f"{most * width} bytes.")


# ---- ring_bytes, ring_time

def _ring_bytes(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(num_bytes: int, size: int, name: str = "") -> Trial:
        right = 2 * (size - 1) * num_bytes / size
        mistakes = [
            ("wrong-answer", right / 2, "That is one of the two phases."),
            ("wrong-answer", 2.0 * (size - 1) * num_bytes, "That is a whole payload per step, or all ranks together"
                                                           f"{', or a count of bits' if size == 8 else ''}."),
            ("wrong-answer", 8 * right, "That is a count of bits; bytes are asked."),
            ("wrong-answer", 1.0 * (size - 1) * num_bytes, "That is the ring that passes whole tensors on."),
            ("wrong-answer", 2.0 * num_bytes, "That is the limit for many ranks, not the bytes of this many."),
            ("wrong-answer", 2 * num_bytes / size, "That is one step of each phase; there are 2(P−1) steps."),
            ("wrong-answer", 2 * right, "That is what a rank sends and what it receives, together."),
            *(("overflow-or-truncation", float(value), "The fraction was lost.") for value in (
                2 * (size - 1) * num_bytes // size, 2 * (size - 1) * (num_bytes // size), round(right),
                2 * (size - 1) * -(-num_bytes // size), -(-2 * (size - 1) * num_bytes // size)))]
        return Trial(name or f"{num_bytes} bytes, {size} ranks", ((num_bytes, size),), right,
                     mistakes=_distinct(right, mistakes))

    if hidden:
        return [trial(draw.integer(1, 99) * 7 + 3, 7), trial(10**12, 1024), trial(draw.integer(100, 999), 64),
                trial(draw.integer(1, 9), 1), trial(0, 5, "an empty payload"),
                _error("ring_bytes", (-8, 1), "a payload cannot be negative"),
                _error("ring_bytes", (100, -2), "there are fewer than 1 ranks")]
    return [trial(1024, 8), trial(1000, 2), trial(10, 3, "10 bytes, 3 ranks: a fraction"), trial(4096, 1, "one rank"),
            trial(100, 4), _error("ring_bytes", (-1, 4), "a payload cannot be negative"),
            _error("ring_bytes", (100, 0), "there are fewer than 1 ranks")]


def _ring_time(draw: Draw, hidden: bool) -> list[Trial]:
    def trial(num_bytes: int, size: int, startup: float, bandwidth: float, name: str = "") -> Trial:
        steps, sending = 2 * (size - 1), num_bytes / bandwidth
        right = steps * (startup + sending / size)
        both = "a step pays its startup and its bytes, one after the other."
        mistakes = [
            ("wrong-answer", right / 2, "That is one of the two phases."),
            ("wrong-answer", steps * (startup + sending), "A step sends one chunk, a P-th of the payload."),
            ("wrong-answer", steps * sending / size, f"The startups are missing: {both}"),
            ("wrong-answer", startup + steps * sending / size, "Each of the 2(P−1) steps pays its own startup."),
            ("wrong-answer", steps * startup, f"The bytes are missing: {both}"),
            ("wrong-answer", steps * (startup + num_bytes * bandwidth / size), "Bandwidth is bytes per second: divide "
                                                                             "by it."),
            ("wrong-answer", 2 * size * (startup + sending / size), "Each phase takes P − 1 steps."),
            ("overflow-or-truncation", steps * (startup + num_bytes // size / bandwidth), "Chunks may have any size: "
                                                                                          "the fraction was lost."),
            ("overflow-or-truncation", steps * (startup + -(-num_bytes // size) / bandwidth), "Chunks may have any "
                                                                                             "size: it was rounded.")]
        return Trial(name or f"{num_bytes} bytes, {size} ranks, α = {startup:g} s, β = {bandwidth:g} bytes/s",
                     ((num_bytes, size, startup, bandwidth),), float(right), mistakes=_distinct(right, mistakes))

    if hidden:
        return [trial(25_000_000, 1024, 2e-5, 5e10), trial(4096, 8, 5e-6, 1e9),
                trial(draw.integer(10, 99), 3, draw.integer(1, 9) / 8, 4.0),
                trial(0, 5, 0.25, 10.0, "an empty payload"), trial(10**9, 1, 1e-5, 1e10, "one rank"),
                trial(1000, 4, 0.0, 250.0, "no startup"),
                *(_error("ring_time", arguments, why) for arguments, why in (
                    ((-5, 2, 0.1, 10.0), "a payload cannot be negative"),
                    ((100, -1, 0.1, 10.0), "there are fewer than 1 ranks"),
                    ((100, 1, -1e-9, 10.0), "a startup cannot be negative"),
                    ((100, 1, 0.1, 0.0), "a bandwidth must be above 0")))]
    return [trial(1000, 4, 0.5, 100.0), trial(10, 3, 0.25, 8.0), trial(7, 2, 1.0, 2.0),
            trial(0, 4, 0.5, 100.0, "an empty payload still pays startups"), trial(1000, 1, 0.5, 100.0, "one rank"),
            trial(10**9, 8, 5e-5, 1.25e9),
            *(_error("ring_time", arguments, why) for arguments, why in (
                ((-1, 4, 0.5, 100.0), "a payload cannot be negative"), ((100, 0, 0.5, 100.0), "there are fewer than 1 "
                                                                                              "ranks"),
                ((100, 4, -0.5, 100.0), "a startup cannot be negative"),
                ((100, 4, 0.5, 0.0), "a bandwidth must be above 0"),
                ((100, 4, 0.5, -100.0), "a bandwidth must be above 0")))]


def _error(function: str, arguments: tuple, why: str) -> Trial:
    call = f"{function}({', '.join(f'{value:g}' for value in arguments)})"
    return Trial(call, (arguments,), Raises(ValueError, f"in {call} {why}"))


EXERCISES = (
    Exercise("gradient_factor", ASSIGNMENT, _gradient_factor, ranks=False),
    Exercise("mean_all_reduce", ASSIGNMENT, _mean_all_reduce, rule=rule_on_sum_only),
    Exercise("reduce_gradients", ASSIGNMENT, _reduce_gradients, stage="autograder.stages.gradients:reduce",
             rule=rule_on_gradients),
    Exercise("scale_error", ASSIGNMENT, _scale_error, ranks=False),
    Exercise("ring_all_reduce", ASSIGNMENT, _ring_all_reduce, rule=rule_on_ring),
    Exercise("ring_bytes", ASSIGNMENT, _ring_bytes, ranks=False),
    Exercise("ring_time", ASSIGNMENT, _ring_time, ranks=False),
)
