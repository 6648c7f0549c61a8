"""Reading a captured step: which items it had, the gradient of each, and what each weighed.

The items of a window are read off the forward calls of all ranks. Their gradients come from a float64 copy of
the model with the parameters as they were before the step; nothing of the trainer takes part in that.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._pytree import tree_map

from autograder.dials import Explanation, Setting, explain_update, predict_weights
from autograder.probe.data import ProbeData
from autograder.probe.step import Step
from autograder.reference import per_item_gradients
from autograder.weights import Recovery, recover_weights
from autograder.window import IGNORE_INDEX, UpdateWindow

OBJECTIVES = ("token", "sequence")
# How far a right update may be off, relative to its largest entry, by the precision it was computed in. Trainers
# that say float64 and compute a norm in float32 reach 1e-7; a wrong setting is off by far more than any of these.
RTOL = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 5e-2, torch.bfloat16: 5e-2}
_WEAK = ("unexplained", "pure-scale")
MOST_NUMBERS = 2**28  # of all item gradients together: 2 GB
TELLING = 100  # a window tells a mistake from the right update when they are this many tolerances apart


class NotIdentifiable(ValueError):
    """These gradients, or this window, cannot say what the items weighed. The message says what to change."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """One update on all ranks, and what it says.

    window; item_gradients [N, D] in its order; updates: what each rank's optimizer used, [D] each. alternatives:
    other counts of the same items' slots, for steps that count padding otherwise. outside: makes the item gradients
    of the window before, which must not be in this update; asked only when nothing else fits.
    """

    window: UpdateWindow
    item_gradients: Tensor
    updates: tuple[Tensor, ...]
    alternatives: tuple[UpdateWindow, ...] = ()
    outside: Callable[[], Tensor] | None = None

    @property
    def update(self) -> Tensor:
        """The update of rank 0, [D]."""
        return self.updates[0]

    @property
    def rtol(self) -> float:
        return max(RTOL.get(update.dtype, 1e-6) for update in self.updates)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """What fits, best first: key None when right; "not-synchronized" and "nan-or-inf" before any weights."""
        unknown = torch.full((self.window.item_count,), torch.nan, dtype=torch.float64)
        broken = [r for r, update in enumerate(self.updates) if not update.isfinite().all()]
        if broken:
            sentence = f"The update of rank {broken[0]} holds a NaN or an infinity."
            return (Explanation("nan-or-inf", None, float("nan"), sentence, unknown),)
        first = self.update.double()
        distances = [float((update.double() - first).abs().max()) for update in self.updates]
        if max(distances) > self.rtol * max(float(update.abs().max()) for update in self.updates):
            rank = distances.index(max(distances))
            sentence = (f"The ranks made different updates: rank {rank} differs from rank 0 by up to "
                        f"{max(distances):.3g}.\n{self._alone(rank)}")
            return (Explanation("not-synchronized", None, float("nan"), sentence, unknown),)
        found = self._explained(self.window)
        named = (reading for reading in self._second_readings() if reading[0].key not in _WEAK)
        return next(named, found) if found[0].key in _WEAK else found

    @property
    def best(self) -> Explanation:
        return self.explanations[0]

    @cached_property
    def recovery(self) -> Recovery:
        """The weights recovered from the update, with NaN where they cannot be told."""
        return recover_weights(self.update, self.item_gradients, rtol=self.rtol)

    @property
    def weights(self) -> Tensor:
        """What every item weighed, [N]; NaN where that cannot be told."""
        if not self.update.isfinite().all():
            return torch.full((self.window.item_count,), torch.nan, dtype=torch.float64)
        return self.recovery.weights

    def recover(self, by: str = "item") -> Recovery:
        """The recovered weights, one by one or by="microbatch". Raises NotIdentifiable if they cannot be told."""
        if by not in ("item", "microbatch"):
            raise ValueError(f'by={by!r}: choose "item" or "microbatch"')
        groups = self.window.item_groups if by == "microbatch" else None
        recovery = recover_weights(self.update, self.item_gradients, groups=groups, rtol=self.rtol)
        items, numbers = self.item_gradients.shape
        if not recovery.checked or recovery.unidentifiable:
            lost = len(recovery.unidentifiable) or items
            advice = 'ask for by="microbatch", or probe with' if by == "item" else "probe with"
            raise NotIdentifiable(
                f"{lost} of {items} weights cannot be told: {items} item gradients of {numbers} numbers each are not "
                f"independent. {advice[0].upper()}{advice[1:]} a model of at least {2 * items} parameters and items "
                "that differ, such as probe.ProbeModel and probe.ProbeData.")
        return recovery

    def hides(self) -> list[tuple[str, tuple]]:
        """Mistakes that would make the right update here: ("ranks", counts) for a mean of rank means,
        ("microbatches", counts) for one of microbatch means."""
        right = self.window.expected_weights @ self.item_gradients
        suspects = []
        if self.window.world_size > 1:
            suspects.append((Setting("rank", "sum", "mean"), "ranks", self.window.rank_counts))
        if max(self.window.microbatch_counts) > 1:
            suspects.append((Setting("microbatch", "mean", "mean"), "microbatches", self.window.counts))
        wrong = {what: predict_weights(setting, self.window) @ self.item_gradients for setting, what, _ in suspects}
        least = TELLING * self.rtol * float(right.abs().max())
        return [(what, counts) for _, what, counts in suspects
                if float((wrong[what] - right).abs().max()) <= least]

    def _explained(self, window: UpdateWindow, outside: Tensor | None = None) -> tuple[Explanation, ...]:
        return tuple(explain_update(self.update, self.item_gradients, window, self.rtol, outside=outside))

    def _second_readings(self) -> Iterator[tuple[Explanation, ...]]:
        """Where nothing with a name fits: padding counted otherwise, then gradients of the window before."""
        yield from map(self._explained, self.alternatives)
        if self.outside is not None:
            yield self._explained(self.window, self.outside())

    def _alone(self, rank: int) -> str:
        """What the update of one rank is when it is taken for itself."""
        rows = self.window.item_ranks == rank
        own = replace(self, updates=(self.updates[rank],)).weights
        if rows.any() and own.isfinite().all() and float(own[~rows].abs().sum()) <= 1e-6 * float(own.abs().sum()):
            return f"In the update of rank {rank} only its own items have a weight: nothing was exchanged."
        return "Every rank must step with the same gradient."


def token_losses(model: nn.Module, ids: Tensor, targets: Tensor) -> Tensor:
    """The cross entropies [n] of the targets [B, T] that count, row by row; logits[b, t] predicts targets[b, t].

    The model may return logits [B, T, V], or an object or dict that holds them as `logits`.
    """
    out = model(ids)
    if not isinstance(out, Tensor):
        out = out["logits"] if isinstance(out, dict) else out.logits
    losses = F.cross_entropy(out.flatten(0, 1), targets.flatten(), ignore_index=IGNORE_INDEX, reduction="none")
    return losses[targets.flatten() != IGNORE_INDEX]


def measure_step(
    steps: Sequence[Step], reference: nn.Module, *, data: ProbeData | None = None,
    item_losses: Callable[..., Tensor] | None = None, objective: str = "token", sgd_lr: float | None = None,
    accumulation_steps: int | None = None, before: Sequence[Step] | None = None,
) -> Measurement:
    """What one step on all ranks says: `steps[r]` of rank r, `before` the same of the step before it.

    reference: the model without any wrapper; its parameters are replaced by those before the step. objective:
    "token" weighs items alike, "sequence" gives every sequence the same weight. Raises ValueError when the
    forward calls do not say what the items are, NotIdentifiable when the gradients were hidden.
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"objective {objective!r}: choose one of {', '.join(map(repr, OBJECTIVES))}")
    if sgd_lr is None and not any(step.gradients for step in steps):
        raise NotIdentifiable("The optimizer step had no gradient in `.grad`, so this wrapper hides gradients: "
                              "train with plain SGD and give its learning rate as sgd_lr.")
    model = _at(reference, steps[0])
    _require_small(steps)
    k = _configured(steps, accumulation_steps)
    with _one_thread():
        if item_losses is not None:
            if objective != "token":
                raise ValueError("objective='sequence' needs a language model; with item_losses every item is alike")
            rows = [[_rows(model, item_losses, args, kwargs) for args, kwargs in step.calls] for step in steps]
            _require_items(rows)
            windows = [UpdateWindow.from_counts([[len(g) for g in row] for row in rows], accumulation_steps=k)]
        else:
            calls = [[_read(args, kwargs, data) for args, kwargs in step.calls] for step in steps]
            _require_items(calls)
            rows = [[per_item_gradients(model, token_losses, call.ids, call.targets) for call in row]
                    for row in calls]
            windows = [_window(calls, objective, k, all_slots) for all_slots in (False, True)]
    outside = None
    if before is not None:
        outside = lambda: measure_step(before, reference, data=data, item_losses=item_losses,  # noqa: E731
                                       objective=objective, sgd_lr=sgd_lr).item_gradients
    return Measurement(windows[0], torch.cat([g for row in rows for g in row]),
                       tuple(step.update(sgd_lr) for step in steps), tuple(windows[1:]), outside)


def measure_steps(ranks: Sequence[Sequence[Step]], reference: nn.Module, **options) -> list[Measurement]:
    """What every step says: ranks[r] are the steps of rank r. Options as in `measure_step`.

    A rank that made fewer steps than others has no items in those that it lacks.
    """
    rounds = []
    for number in range(max(map(len, ranks))):
        made = next(steps[number] for steps in ranks if len(steps) > number)
        rounds.append([steps[number] if len(steps) > number else replace(made, calls=()) for steps in ranks])
    return [measure_step(steps, reference, before=rounds[number - 1] if number else None, **options)
            for number, steps in enumerate(rounds)]


def times_seen(ranks: Sequence[Sequence[Step]], data: ProbeData) -> list[int]:
    """How often the steps of all ranks have seen each sequence of the data: 1 each in a whole epoch."""
    seen = [0] * len(data)
    for call in (call for steps in ranks for step in steps for call in step.calls):
        for row in _read(*call, data).rows or ():
            seen[row] += 1
    return seen


def require_telling(measurements: Sequence[Measurement]) -> None:
    """Raise NotIdentifiable if a mean of rank means, or of microbatch means, would look right in every update."""
    hidden = [dict(one.hides()) for one in measurements]
    for what in ("ranks", "microbatches"):
        relevant = [found for one, found in zip(measurements, hidden, strict=True)
                    if what == "ranks" or max(one.window.microbatch_counts) > 1]
        if relevant and all(what in found for found in relevant):
            raise NotIdentifiable(f"These windows cannot tell right from wrong: a mean over the means of {what} makes "
                                  f"the same update. The counts are {relevant[0][what]}: give {what} different "
                                  "numbers of items, and items different gradients.")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hundreds of tiny backward passes are slower with several threads, much slower on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class _Call:
    """One forward call of a language model: ids [B, T], aligned targets [B, T], labels that count before the
    shift by one, and which sequence of the data each row is (None without data)."""

    ids: Tensor
    targets: Tensor
    unshifted: int
    rows: list[int] | None


def _read(args: tuple, kwargs: dict, data: ProbeData | None) -> _Call:
    ids = kwargs.get("input_ids")
    if ids is None:
        ids = next((a for a in (*args, *kwargs.values()) if _is_ids(a)), None)
    if ids is None:
        raise ValueError("a forward call holds no token ids [B, T]: give item_losses=, which says what the losses of "
                         "the items in a call are")
    rows = None
    if data is not None:
        rows = data.rows_of(ids)
        labels = data.labels[rows]
    else:
        labels = kwargs.get("labels")
        if labels is None:
            raise ValueError("a forward call holds no labels: hand them to it as labels=, give data=, the ProbeData "
                             "that the sequences come from, or item_losses=")
    width = ids.shape[1]
    targets = F.pad(labels[:, 1:], (0, max(width + 1 - labels.shape[1], 0)), value=IGNORE_INDEX)[:, :width]
    return _Call(ids, targets, int((labels != IGNORE_INDEX).sum()), rows)


def _is_ids(value: object) -> bool:
    return isinstance(value, Tensor) and value.ndim == 2 and not value.is_floating_point()


def _window(calls: list[list[_Call]], objective: str, k: int | None, all_slots: bool) -> UpdateWindow:
    masks = [[call.targets[:, :_slots(call, all_slots)] != IGNORE_INDEX for call in row] for row in calls]
    window = UpdateWindow.from_masks(
        masks, unshifted_counts=tuple(tuple(call.unshifted for call in row) for row in calls), accumulation_steps=k)
    examples = [(call.rows, mask.shape[1]) for row, masks_of in zip(calls, masks, strict=True)
                for call, mask in zip(row, masks_of, strict=True)]
    if all(rows is not None for rows, _ in examples):
        seen = [row for rows, _ in examples for row in rows]
        if len(set(seen)) < len(seen):  # some sequence came twice: its copies are one
            longest = max(width for _, width in examples)
            window = replace(window, example=tuple(
                row * longest + place for rows, width in examples for row in rows for place in range(width)))
    if objective == "sequence":
        lengths = [mask.sum(1, keepdim=True).expand(mask.shape).flatten() for row in masks for mask in row]
        weights = 1 / torch.cat(lengths).double().clamp(min=1)
        window = replace(window, sample_weight=tuple(weights.tolist()))
    return window


def _slots(call: _Call, all_slots: bool) -> int:
    """Columns that can hold an item: the last one has no target, unless the model was shown ids[:, :-1]."""
    width = call.ids.shape[1]
    return width if all_slots or bool((call.targets[:, -1] != IGNORE_INDEX).any()) else width - 1


def _configured(steps: Sequence[Step], accumulation_steps: int | None) -> int | None:
    seen = max(len(step.calls) for step in steps)
    return None if accumulation_steps is None else max(accumulation_steps, seen)


def _require_items(calls: list[list]) -> None:
    if not any(calls):
        raise ValueError("the model was not called with gradients between two optimizer steps, so the update has no "
                         "items: give capture the model that the trainer calls")


def _require_small(steps: Sequence[Step]) -> None:
    """An item is at most one number of a forward call's arguments; their gradients must fit into memory."""
    numbers = sum(p.numel() for p in steps[0].parameters.values())
    items = sum(max((v.numel() for v in (*args, *kwargs.values()) if isinstance(v, Tensor)), default=0)
                for step in steps for args, kwargs in step.calls)
    if numbers * items > MOST_NUMBERS:
        raise ValueError(f"{numbers:,} parameters and up to {items:,} items make item gradients of "
                         f"{8 * numbers * items / 2**30:.0f} GB: probe with a small copy of the model (few layers, "
                         "narrow) and fewer items. What the step divides by does not depend on the size")


def _at(reference: nn.Module, step: Step) -> nn.Module:
    """A float64 copy of the model, on the CPU as all that was captured, with the parameters before the step."""
    model = copy.deepcopy(reference).cpu().double().eval()
    named = dict(model.named_parameters())
    missing = step.parameters.keys() - named.keys()
    if missing:
        raise ValueError(f"the trainer steps a parameter that the model does not have: {sorted(missing)[0]}. Wrappers "
                         "that flatten parameters (FullyShardedDataParallel) are not supported; fully_shard is")
    with torch.no_grad():
        for name, parameter in named.items():
            parameter.requires_grad_(name in step.parameters)
            if name in step.parameters:
                parameter.copy_(step.parameters[name])
    return model


def _rows(model: nn.Module, item_losses: Callable, args: tuple, kwargs: dict) -> Tensor:
    double = lambda v: v.double() if isinstance(v, Tensor) and v.is_floating_point() else v  # noqa: E731
    args, kwargs = tree_map(double, args), tree_map(double, kwargs)
    return per_item_gradients(model, lambda module: item_losses(module, *args, **kwargs))
