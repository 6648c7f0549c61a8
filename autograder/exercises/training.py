"""Exercises that train: trials with real models, and the rule that compares every update with its reference.

Each optimizer step is judged on its own, at the parameters before it: u = (θ_before − θ_after)/lr, item gradients in
float64 by one process. So a wrong first step does not hide a right second one, and every wrong one can be named.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from autograder import diagnosis, dials
from autograder.diagnosis import Reason
from autograder.dials.sentences import weights_line, with_causes
from autograder.exercises.record import Raises, Trial
from autograder.exercises.rules import (
    TOLERANCE,
    agrees,
    identical,
    misfit,
    reasons_of,
    rule_on_behaviour,
    rule_on_error,
    shown,
)
from autograder.ranks import wire
from autograder.ranks.ledger import Call
from autograder.ranks.report import RankOutcome, ordinal, ranks_words, sentence
from autograder.reference import per_item_gradients, reference_update
from autograder.stages.models import build_model
from autograder.stages.train import FENCE, POISON
from autograder.weights import SPAN_TOLERANCE, recover_weights
from autograder.window import UpdateWindow

STAGE = "autograder.stages.train:train"
UNCHECKED = "unchecked"
_AVERAGES = ("mean-of-rank-means", "sum-of-rank-means", "mean-of-microbatch-means", "sum-of-microbatch-means",
             "global-divisor-then-mean", "divided-twice", "never-divided", "divided-by-world-size", "sequence-mean")


@dataclass(frozen=True)
class OtherItems:
    """Items that a step may take for those of its window: a mistake that no setting of the dials is.

    key, words: its name, and a sentence about this trial; window, batch: the mistaken items, as in ExpectedUpdate, or
    the same batch (the same tuple) with a window that counts it otherwise. The mistake is recognised however these
    items were averaged.
    """

    key: str
    words: str
    window: UpdateWindow
    batch: tuple[Tensor, ...]


@dataclass(frozen=True)
class ExpectedUpdate:
    """One right optimizer step: the items of its window, concatenated in rank, microbatch, item order.

    extra: a further term of the objective, models → scalar, whose gradient is added to the items' (float64).
    outside: items that do not belong to this window but might have got into its update, such as the next window's.
    mistaken: sets of items that might have been taken for those of the window.
    alternatives: further wrong updates that have a name and are no weighted sum that the dials know:
    item gradients [N, D] → pairs of (reason, update [D]).
    """

    window: UpdateWindow
    batch: tuple[Tensor, ...]
    extra: Callable[[nn.ModuleDict], Tensor] | None = None
    clip_to: float | None = None
    outside: tuple[Tensor, ...] | None = None
    mistaken: tuple[OtherItems, ...] = ()
    alternatives: Callable[[Tensor], Iterable[tuple[Reason, Tensor]]] | None = None


@dataclass(frozen=True)
class ExpectedCall:
    """What one call must do: these updates and no other, and return this value (UNCHECKED: anything).

    returns may be a function of the models (float64, at the parameters before the call) that gives a number; the
    returned one is then held to the tolerance of the dtype that trains.
    """

    updates: tuple[ExpectedUpdate, ...]
    returns: object = UNCHECKED


@dataclass(frozen=True)
class Training:
    """What is right in a training trial: the models it starts from, its item losses, what each call must do.

    item_losses(models, *batch) → losses [n] in item order; models is an nn.ModuleDict of the trial's models.
    """

    models: dict[str, dict]
    lr: float
    item_losses: Callable[..., Tensor]
    calls: tuple[ExpectedCall, ...]
    error: Raises | None = None


Check = Callable[[Trial, int, ExpectedCall, Sequence[dict]], list[Reason]]


def taken_again(rows: Sequence[Sequence], places: Sequence[int]) -> Iterator[list[list]]:
    """The entries at `places` of each rank's row if rows did not end, but started again or repeated their last entry.
    Nothing where no row ends before."""
    if any(row and len(row) <= max(places) for row in rows):
        for place in (lambda k, n: k % n, lambda k, n: min(k, n - 1)):
            yield [[row[place(k, len(row))] for k in places] if row else [] for row in rows]


def squared_losses(models: nn.ModuleDict, inputs: Tensor, targets: Tensor) -> Tensor:
    """The course's item loss: Σ over outputs of ½(ŷ − y)²; [n]."""
    return 0.5 * ((models["model"](inputs) - targets) ** 2).sum(-1)


def training_trial(name: str, training: Training, calls: Sequence[Sequence[list]], *, ddp: Sequence[str] = ("model",),
                   groups: dict | None = None, hook: bool = False, warm: dict[str, Tensor] | None = None,
                   counts: Sequence = (), special: bool = False, **facts: object) -> Trial:
    """A trial in which rank r makes the calls `calls[c][r]` (argument lists for the stage, see stages/train.py)."""
    world_size = len(calls[0])
    arguments = tuple(({
        "models": training.models, "ddp": list(ddp), "lr": training.lr, "groups": groups or {}, "hook": hook,
        "warm": warm or {}, "calls": [list(call[rank]) for call in calls]},) for rank in range(world_size))
    return Trial(name, arguments, training.error or training, counts=tuple(counts), facts=dict(facts), special=special)


def rule_on_training(trial: Trial, outcomes: Sequence[RankOutcome], *checks: Check) -> list[Reason]:
    """[] if every call of the trial did what it must. `checks` are further rules for each call, with its records
    (one per rank), asked after behaviour and before values: traffic, meters."""
    seen, outcomes = outcomes, [_of_the_function(outcome) for outcome in outcomes]
    if isinstance(trial.expected, Raises):
        return rule_on_error(trial, outcomes) or _unchanged(outcomes)
    behaviour = rule_on_behaviour(trial, outcomes)
    if not behaviour and any(outcome.result is None for outcome in outcomes):
        behaviour = rule_on_behaviour(trial, seen)  # all wait in a group that is called like the stage's own
    if behaviour:
        return [*_not_a_future(outcomes), *_missing_forward(outcomes, behaviour), *behaviour]
    calls = [wire.decode(outcome.result)["calls"] for outcome in outcomes]
    reasons: list[Reason] = []
    earlier: list[UpdateWindow] = []
    before = [_at_the_start(trial.expected)] * len(calls)
    for number, expected in enumerate(trial.expected.calls):
        records = [rank_calls[number] for rank_calls in calls]
        for rank, record in enumerate(records):
            if reason := _other_parameters(rank, record, before[rank], number):
                return [reason]
        before = [record["parameters"] for record in records]
        reasons += _rule_on_call(trial, number, expected, records, earlier)
        for check in checks:
            reasons += check(trial, number, expected, records)
        if reasons:
            break
    return reasons


def _at_the_start(training: Training) -> Tensor:
    """The parameters [D] that every rank starts from."""
    return torch.cat([value.reshape(-1) for model in training.models.values() for value in model["parameters"]])


def _other_parameters(rank: int, record: dict, before: Tensor, number: int) -> Reason | None:
    """Whether a record is about other parameters than it should be: the reference is computed at those in it."""
    if not identical(record["snapshots"][0], before):
        return Reason("wrong-number-of-steps", f"Rank {rank} changed parameters before call {number + 1}.\nOne update "
                                               "is one optimizer.step(), within the call.")
    for vector in (*record["snapshots"], record["parameters"]):
        if vector.shape != before.shape or vector.dtype not in TOLERANCE:
            return Reason("wrong-type", f"Rank {rank} made of {len(before)} parameters in {str(before.dtype)[6:]} "
                                        f"{vector.numel()} in {str(vector.dtype)[6:]}.\nLeave their shapes and dtypes "
                                        "as they are.")
    return None


def _of_the_function(outcome: RankOutcome) -> RankOutcome:
    """The outcome without the stage's own fence: a rank that waits there has returned from the function."""
    fenced = outcome.end == "waiting" and any(call.group.startswith(FENCE) for call in outcome.pending)
    return replace(outcome, end="returned" if fenced else outcome.end,
                   calls=[call for call in outcome.calls if not call.group.startswith(FENCE)])


def _not_a_future(outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """What a communication hook returned, where it was no future."""
    return [Reason("wrong-type", f"On {ranks_words([outcome.rank])} {outcome.error['message']}.")
            for outcome in outcomes if outcome.end == "raised" and outcome.error["type"] == "NotAFuture"][:1]


def _missing_forward(outcomes: Sequence[RankOutcome], behaviour: Sequence[Reason]) -> list[Reason]:
    """Whether ranks wait for one that made its step without DDP's forward: its backward reduces nothing."""
    if behaviour[0].key != "deadlock":
        return []
    for outcome in outcomes:
        if outcome.end == "returned" and outcome.result is not None:
            last = wire.decode(outcome.result)["calls"][-1]
            if last["forwards"] == 0 and len(last["snapshots"]) > 1:
                waits = behaviour[0].sentence.splitlines()[0]
                return [Reason("missing-forward", f"{waits}\nRank {outcome.rank} made its step without a forward pass "
                                                  "of the DDP model, and then its backward pass reduces nothing.")]
    return []


def _unchanged(outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """After a due exception no parameter may have changed."""
    for outcome in outcomes:
        record = wire.decode(outcome.result) if outcome.result else None
        last = record and record["calls"][-1]
        if last and not identical(last["snapshots"][0], last["parameters"]):
            return [Reason("wrong-number-of-steps", f"Rank {outcome.rank} raised the error, but after its parameters "
                                                    "had changed.\nWithout an item there is no update.")]
    return []


def _rule_on_call(trial: Trial, number: int, expected: ExpectedCall, records: Sequence[dict],
                  earlier: list[UpdateWindow]) -> list[Reason]:
    """earlier: the windows of the updates before, all of them right; those of this call that are right are added."""
    due = len(expected.updates)
    again = f" (call {number + 1} with the same model)" if number else ""
    for rank, record in enumerate(records):
        if record["options_changed"]:
            return [Reason("optimizer-changed", f"Rank {rank} changed the options of the optimizer{again}.\nScale the "
                                                "loss or the gradients, and leave the learning rate alone.")]
        if not bool(record["parameters"].isfinite().all()):
            return [Reason("nan-or-inf", _poisoned(expected, rank))]
    steps = [len(record["snapshots"]) - 1 for record in records]
    moved = [not identical(record["snapshots"][-1], record["parameters"]) for record in records]
    outside = next((rank for rank, changed in enumerate(moved) if changed), None)
    if outside is not None and (steps[outside] == 0 or set(steps) == {due}):
        return [Reason("wrong-number-of-steps", f"Rank {outside} changed parameters outside optimizer.step(){again}.\n"
                                                "One update is one optimizer.step().")]
    if any(count != due for count in steps):
        rank = next(rank for rank, count in enumerate(steps) if count != due)
        key = "no-update" if not any(steps) and due == 1 else "wrong-number-of-steps"
        made = f"{steps[rank]} optimizer step{'' if steps[rank] == 1 else 's'}"
        return [Reason(key, f"Rank {rank} made {made}{again}; {due} "
                            f"{'is' if due == 1 else 'are'} right on every rank.")]
    reasons: list[Reason] = []
    if (apart := _ranks_apart(records)) is not None:
        reasons += _bypassed(records)
        reasons.append(Reason("not-synchronized", f"The parameters of rank 0 and rank {apart} differ after the "
                                                  f"update{again}.\nEvery rank must make the same update."))
    for position, update in enumerate(expected.updates):
        reasons += _rule_on_update(trial, update, position, records, again, earlier)
        if reasons:
            break
        earlier.append(update.window)
    if reasons:
        return reasons
    return [*_rule_on_returns(trial, expected, records), *_changed(trial, number, records)]


def _bypassed(records: Sequence[dict]) -> list[Reason]:
    """Whether a rank made its step without DDP's forward and without a reduction of its own."""
    for rank, record in enumerate(records):
        if record["forwards"] == 0 and elements_sent(record) < record["parameters"].numel():
            return [Reason("missing-forward", f"Rank {rank} made its step without a forward pass of the DDP model: "
                                              "nothing reduced its gradients, and the ranks drift apart.")]
    return []


def _rule_on_update(trial: Trial, update: ExpectedUpdate, position: int, records: Sequence[dict],
                    again: str, earlier: Sequence[UpdateWindow]) -> list[Reason]:
    training: Training = trial.expected
    wrong, known = None, None
    for rank, record in enumerate(records):
        before = record["snapshots"][position]
        made = _made(training, record, position)
        if known is None or not identical(before, known[0]):
            known = before, right_update(training, update, models_at(training.models, before))
        right = known[1]
        rounding = 4 * torch.finfo(before.dtype).eps * float(before.abs().max()) / training.lr
        if not _close(made, right, before.dtype, rounding):
            wrong = rank, made, before, right
            break
    if wrong is None:
        return []
    rank, made, before, right = wrong
    where = f" (update {position + 1})" if position else again
    if not bool(made.abs().max() > 0):
        return [Reason("gradients-lost", f"Rank {rank} made a step of zero{where}: its gradients were gone, "
                                          "or no item entered the loss.")]
    stale = Reason("stale-gradients", f"The gradients that stood in .grad before the call entered the update of rank "
                                      f"{rank}{where}.\nThe function must clear old gradients itself.")
    if float(made.min()) > 0.05 * POISON:
        return [stale]
    named = _named(trial, update, made, before, earlier)
    if not named and position and _close(made, right + _made(training, records[rank], position - 1), before.dtype):
        return [Reason("stale-gradients", f"Update {position + 1} of rank {rank} holds the gradients of the update "
                                          "before, which were still in .grad.")]
    if not named and _holds_poison(made, training):
        return [stale]
    return [*named, _unexplained(training, update, rank, made, right, before, where)]


def _holds_poison(made: Tensor, training: Training) -> bool:
    """Whether a parameter got nearly the same large number everywhere, as POISON is: not all of them were cleared."""
    sizes = [p.numel() for model in training.models.values() for p in model["parameters"]]
    return any(len(part) > 3 and bool(part.mean().abs() > 0.05 * POISON) and bool(part.std() < 0.1 * part.mean().abs())
               for part in made.split(sizes))


def _unexplained(training: Training, update: ExpectedUpdate, rank: int, made: Tensor, right: Tensor, before: Tensor,
                 where: str) -> Reason:
    """An update without a name: what its items weighed, where the update tells that, else where it is most wrong."""
    if not bool((made - right).isfinite().all()):
        return Reason("unexplained", f"The update of rank {rank}{where} holds a NaN or an infinity.")
    models = models_at(training.models, before)
    gradients = per_item_gradients(models, training.item_losses, *update.batch)
    recovered = recover_weights(made - _extra(update, models), gradients, rtol=SPAN_TOLERANCE[before.dtype])
    if recovered.checked and bool(recovered.identifiable.all()):
        small = 1e-9 if before.dtype == torch.float64 else 1e-4
        weights = recovered.weights.where(recovered.weights.abs() > small * recovered.weights.abs().max(), 0.0)
        return Reason("unexplained", f"The items of the update of rank {rank}{where} have weights that no setting of "
                                     f"the three dials gives.\n{weights_line(weights, update.window)}",
                      tuple(weights.tolist()), update.window)
    away = float((made - right).norm() / right.norm())
    worst = (made - right).abs().topk(min(4, len(made))).indices.sort().values
    why = "no setting of the three dials gives it." if recovered.is_weighted_sum else \
        "no weights of this window's items give it: is the loss of an item what it should be?"
    return Reason("unexplained", f"The update of rank {rank} is {away:.2g} times its own length away from the "
                                 f"reference update{where}, and {why}\n"
                                 f"Where it is most wrong it is {shown(made[worst])}; right is {shown(right[worst])}.")


def _made(training: Training, record: dict, position: int) -> Tensor:
    """The update [D] that a rank made in its optimizer step number `position`."""
    before, after = record["snapshots"][position:position + 2]
    return (before.double() - after.double()) / training.lr


def _close(made: Tensor, right: Tensor, dtype: torch.dtype, rounding: float = 0.0) -> bool:
    return float((made - right).abs().max()) <= TOLERANCE[dtype] * float(right.abs().max()) + rounding


def _named(trial: Trial, update: ExpectedUpdate, made: Tensor, before: Tensor,
           earlier: Sequence[UpdateWindow]) -> list[Reason]:
    """Readings of a wrong update [D] that was made at the parameters `before`: as one vector, else by parameter."""
    training, window, rtol = trial.expected, update.window, 10 * TOLERANCE[before.dtype]
    models = models_at(training.models, before)
    gradients = per_item_gradients(models, training.item_losses, *update.batch)
    items = made - _extra(update, models)
    outside = per_item_gradients(models, training.item_losses, *update.outside) if update.outside else None
    def that_fit(others: Iterable[tuple[Reason, Tensor]]) -> list[Reason]:
        return [reason for reason, other in others if float((items - other).abs().max()) <= rtol * float(
            torch.maximum(items.abs().max(), other.abs().max()))]

    alternatives = that_fit(update.alternatives(gradients)) if update.alternatives else []
    kept = that_fit(_with_kept_shares(window, earlier, gradients))
    some = _some(len(made))
    found = dials.explain_update(items[some], gradients[:, some], window, rtol,
                                 None if outside is None else outside[:, some])
    found = [_with_its_cause(entry, training, window, earlier) for entry in found]
    vague = found[0].key in ("unexplained", "window-boundaries")
    others = _of_other_items(training, update, models, gradients, items, rtol, not vague)
    if alternatives or (vague and kept):
        return [*alternatives, *reasons_of(found, window), *others, *kept]
    if others and vague:
        return others
    if others:
        return sorted([*others, *reasons_of(found, window), *kept], key=lambda reason: diagnosis.tier(reason.key))
    if found[0].key in (None, "unexplained"):
        ends = torch.tensor([p.numel() for p in models.parameters()]).cumsum(0).tolist()
        blocks = {}
        for (name, p), end in zip(models.named_parameters(), ends, strict=True):
            some = end - p.numel() + _some(p.numel(), 256)
            blocks[name if len(models) > 1 else name.partition(".")[2]] = items[some], gradients[:, some]
        by_block = dials.explain_blocks(blocks, window, rtol)
        if any(dials.explain_update(*block, window, rtol)[0].key != "unexplained" for block in blocks.values()):
            found = by_block
    reasons = [*reasons_of(found, window), *kept]
    if trial.arguments[0][0]["hook"]:
        reasons = [replace(r, key="bucket-dependent") if r.key == "parameter-groups-differ" else r for r in reasons]
    return reasons


def _with_kept_shares(window: UpdateWindow, earlier: Sequence[UpdateWindow],
                      gradients: Tensor) -> Iterator[tuple[Reason, Tensor]]:
    """Each rank's own mean with the rank's share of an earlier window: pairs of (reason, update [D])."""
    held = window.item_ranks
    own = torch.zeros(window.world_size, dtype=torch.float64).index_add_(0, held, window.item_weights)
    for kept in reversed(earlier):
        sums = torch.zeros_like(own).index_add_(0, kept.item_ranks, kept.item_weights)
        weights = window.item_weights / own.clamp(min=1e-300)[held] * (sums / kept.weight_sum)[held]
        told, due = (", ".join(f"{float(part):.4g}/{whole:.4g}" for part in parts)
                     for parts, whole in ((sums, kept.weight_sum), (own, window.weight_sum)))
        yield Reason("mean-of-rank-means", "Each rank's own mean entered with the share that the rank had in an "
                     f"earlier update ({told}), not with that of this one ({due}).\n{weights_line(weights, window)}",
                     tuple(weights.tolist()), window), weights @ gradients


def _with_its_cause(entry: dials.Explanation, training: Training, window: UpdateWindow,
                    earlier: Sequence[UpdateWindow]) -> dials.Explanation:
    """A factor on a right update, and its causes that lie outside the window, too: the count of an earlier one, or the
    outputs of an item, over which its loss is a sum."""
    if entry.key != "pure-scale":
        return entry
    causes = []
    count = "W" if window.is_weighted else "N"
    kept = [before.weight_sum for before in earlier if before.weight_sum != window.weight_sum
            and _same(entry.factor * before.weight_sum, window.weight_sum)]
    if kept:
        causes.append(("kept", f"{count} = {kept[-1]:.6g} of an earlier update was kept; "
                               f"here {count} = {window.weight_sum:.6g}"))
    outputs = training.models["model"]["options"]["sizes"][-1] if training.item_losses is squared_losses else 1
    if outputs > 1 and _same(entry.factor * outputs, 1):
        causes.append(("outputs", f"a mean over the {outputs} outputs of an item, whose losses are added"))
    if outputs > 1 and _same(entry.factor * outputs, 2):
        causes.append(("mse", f"mse_loss, which has no ½ and takes a mean over the {outputs} outputs of an item, too"))
    causes = (*causes, *entry.causes)
    return replace(entry, causes=causes, sentence=with_causes(entry.sentence.rpartition("\n")[0], causes))


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-4)


def _of_other_items(training: Training, update: ExpectedUpdate, models: nn.ModuleDict, gradients: Tensor, made: Tensor,
                    rtol: float, explained: bool) -> list[Reason]:
    """The mistaken items of which `made` is an update, however they were averaged. Where the right items with their
    `gradients` explain it, too (`explained`), only the same items counted otherwise say more, by the mistake's key."""
    reasons, some = [], _some(len(made))
    for other in update.mistaken:
        same = other.batch is update.batch
        if explained and not same:
            continue
        rows = gradients if same else per_item_gradients(models, training.item_losses, *other.batch)
        readings = dials.explain_update(made[some], rows[:, some], other.window, rtol)
        best = next((entry for entry in readings if entry.key == other.key), readings[0])
        if best.key == "unexplained" or (explained and best.key != other.key):
            continue
        averaged = best.sentence.splitlines()[0] if best.key in (other.key, *_AVERAGES) else ""
        reasons.append(Reason(other.key, f"{other.words}\n{averaged}".strip()))
    return reasons


def _some(size: int, most: int = 2048) -> Tensor:
    """Places in a vector of `size` numbers: all of them, or so many that every setting still shows itself."""
    order = torch.randperm(size, generator=torch.Generator().manual_seed(0)) if size > most else torch.arange(size)
    return order[:most].sort().values


def _extra(update: ExpectedUpdate, models: nn.ModuleDict) -> Tensor:
    """The gradient [D] of the extra term of the objective."""
    parameters = list(models.parameters())
    if update.extra is None:
        return torch.zeros(sum(p.numel() for p in parameters), dtype=torch.float64)
    parts = torch.autograd.grad(update.extra(models), parameters, allow_unused=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten()
                      for g, p in zip(parts, parameters, strict=True)])


def right_update(training: Training, update: ExpectedUpdate, models: nn.ModuleDict) -> Tensor:
    """The update [D] that one process would make with all items of the window, float64."""
    right = reference_update(models, training.item_losses, *update.batch,
                             sample_weights=update.window.expected_weights) + _extra(update, models)
    return right * min(1.0, update.clip_to / float(right.norm())) if update.clip_to is not None else right


def models_at(descriptions: dict[str, dict], parameters: Tensor) -> nn.ModuleDict:
    """The trial's models in float64 with these parameters [D] (all models' in order)."""
    models = nn.ModuleDict({name: build_model(description) for name, description in descriptions.items()}).double()
    nn.utils.vector_to_parameters(parameters.double(), models.parameters())
    return models


def _poisoned(expected: ExpectedCall, rank: int) -> str:
    empty = sorted({r for update in expected.updates for r, n in enumerate(update.window.rank_counts) if not n})
    cause = f"{sentence(ranks_words(empty))} {'has' if len(empty) == 1 else 'have'} no items: one 0/0 there reaches " \
            "every rank through the reduction." if empty else "Look for a division by zero."
    return f"After the update, parameters of rank {rank} are NaN or Inf.\n{cause}"


def _ranks_apart(records: Sequence[dict]) -> int | None:
    first = records[0]["parameters"]
    for rank, record in enumerate(records[1:], start=1):
        size = float(first.double().abs().max())
        if float((record["parameters"].double() - first.double()).abs().max()) > TOLERANCE[first.dtype] * size:
            return rank
    return None


def _rule_on_returns(trial: Trial, expected: ExpectedCall, records: Sequence[dict]) -> list[Reason]:
    if expected.returns == UNCHECKED:
        return []
    measured = callable(expected.returns)
    for rank, record in enumerate(records):
        value, before = record["value"], record["snapshots"][0]
        due = float(expected.returns(models_at(trial.expected.models, before))) if measured else expected.returns
        if problem := misfit(value, due):
            return [Reason(problem[0], f"Rank {rank} returned {problem[1]}.")]
        right = _close(_number(value), _number(due), before.dtype) if measured else agrees(value, due)
        if not right:
            return [Reason("wrong-return-value", f"The update is right, but rank {rank} returned {shown(value)}; "
                                                 f"right is {shown(due)}.")]
    return []


def _number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def _changed(trial: Trial, number: int, records: Sequence[dict]) -> list[Reason]:
    for rank, record in enumerate(records):
        given = trial.arguments[rank][0]["calls"][number]
        for position, (before, after) in enumerate(zip(given, record["arguments"], strict=False), start=1):
            if isinstance(before, (Tensor, list, tuple)) and not identical(wire.portable(before), after):
                return [Reason("changed-its-argument", f"Rank {rank} changed argument number {position}.\n"
                                                       "The caller still needs it: work on a copy.")]
    return []


def elements_sent(record: dict, *, at_least: int = 0) -> int:
    """Elements that a rank handed to collectives and sends in one call, those of calls with fewer than `at_least` left
    out. An all_gather or broadcast that follows a reduce (or reduce_scatter) of the same data belongs to it."""
    return sum(call.elements for _, call in _counted(record, at_least))


def _counted(record: dict, at_least: int = 0) -> Iterator[tuple[int, Call]]:
    """The calls whose elements count, each with its place in the ledger, from 1."""
    half_done = False
    for place, call in enumerate(map(Call.from_dict, record["ledger"]), start=1):
        if call.name == "recv" or call.elements < at_least:
            continue
        if half_done and call.name in ("broadcast", "all_gather", "_allgather_base"):
            half_done = False
            continue
        half_done = call.name in ("reduce", "reduce_scatter", "_reduce_scatter_base")
        yield place, call


def _too_much(record: dict, allowed: int) -> str:
    """Which call was the first that went beyond the elements allowed."""
    total = 0
    for place, call in _counted(record):
        total += call.elements
        if total > allowed:
            return f"its {ordinal(place)} call, {call}, was one too many"
    return ""


def one_synchronization(trial: Trial, number: int, expected: ExpectedCall, records: Sequence[dict],
                        slack: int = 8) -> list[Reason]:
    """A check: between two steps each gradient element crosses the ranks once, plus a few numbers for counts."""
    updates = len(expected.updates)
    if len(records) == 1 or not updates:
        return []
    gradient = records[0]["parameters"].numel()
    for rank, record in enumerate(records):
        sent = elements_sent(record)
        if sent > updates * (gradient + slack):
            sizes = [str(call["elements"]) for call in record["ledger"] if call["elements"] and call["name"] != "recv"]
            calls = ", ".join(sizes[:8]) + (", …" if len(sizes) > 8 else "")
            which = _too_much(record, updates * (gradient + slack))
            return [Reason("extra-synchronization", f"Rank {rank} sent {sent} elements (in calls of {calls}) for "
                           f"{updates} update{'s' if updates > 1 else ''} of {gradient} parameters: {which}.\n"
                           f"Each update needs {gradient}, and {slack} more suffice for counts: synchronize once, in "
                           "the last backward.")]
        if sent < updates * gradient:
            return [Reason("missing-synchronization", f"Rank {rank} sent {sent} elements, but {updates} update"
                           f"{'s' if updates > 1 else ''} of {gradient} parameters need {updates * gradient}.")]
    return []
