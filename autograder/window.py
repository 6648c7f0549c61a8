"""The items of one update window: which rank and microbatch holds each, and how many there are.

A window has one entry per *slot*. A slot that counts is an item; the others are padding. Everything the
course says about normalisation is a statement about the counts kept here: n_rk, n_r, N, W, K_r and P.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real

import torch
from torch import Tensor

IGNORE_INDEX = -100  # what PyTorch's cross entropy ignores by default


@dataclass(frozen=True)
class UpdateWindow:
    """All microbatches of all ranks between two optimizer steps, one entry per slot.

    Every per-slot field has one entry per slot, in any order; `from_counts` and its sisters list them by
    rank, microbatch and position. `world_size` (P) and `microbatch_counts` (K_r) may be left out when no
    rank or microbatch is empty. Raises ValueError for a window without items (N = 0), without weight
    (W = 0), or with entries that do not fit together.
    """

    rank: tuple[int, ...]
    microbatch: tuple[int, ...] | None = None  # 0 for every slot when left out
    world_size: int | None = None  # P
    microbatch_counts: tuple[int, ...] | None = None  # K_r, empty microbatches included
    accumulation_steps: int | None = None  # the configured K; the largest K_r when left out
    valid: tuple[bool, ...] | None = None  # False: padding, ignored or masked
    sequence: tuple[int, ...] | None = None  # numbers a sequence within its microbatch
    sample_weight: tuple[float, ...] | None = None  # explicit weights, >= 0
    example: tuple[int, ...] | None = None  # the same number: copies of one original example
    unshifted_counts: tuple[tuple[int, ...], ...] | None = None  # labels[r][k] before the shift by one
    nominal_batch_size: int | None = None  # items that a microbatch is configured to hold
    groups: tuple[tuple[int, ...], ...] | None = None  # a partition of the ranks (hybrid meshes)

    def __post_init__(self) -> None:
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731
        slots = len(self.rank)
        put("rank", _integers("rank", self.rank))
        put("microbatch", _integers("microbatch", self.microbatch or (0,) * slots))
        put("valid", tuple(map(bool, (True,) * slots if self.valid is None else self.valid)))
        for name in ("sequence", "example"):
            if getattr(self, name) is not None:
                put(name, _integers(name, getattr(self, name), least=None))
        if self.sample_weight is not None:
            put("sample_weight", tuple(float(w) for w in self.sample_weight))
        for name in ("microbatch", "valid", "sequence", "sample_weight", "example"):
            if getattr(self, name) is not None and len(getattr(self, name)) != slots:
                raise ValueError(
                    f"{name} has {len(getattr(self, name))} entries and rank has {slots}: "
                    "give one entry per slot")

        if self.world_size is None:
            put("world_size", max(self.rank, default=0) + 1)
        _at_least("world_size", self.world_size, 1)
        if any(r >= self.world_size for r in self.rank):
            raise ValueError(f"rank {max(self.rank)} does not exist: world_size is {self.world_size}")
        seen = [0] * self.world_size
        for r, k in zip(self.rank, self.microbatch, strict=True):
            seen[r] = max(seen[r], k + 1)
        if self.microbatch_counts is None:
            put("microbatch_counts", tuple(seen))
        put("microbatch_counts", _integers("microbatch_counts", self.microbatch_counts))
        if len(self.microbatch_counts) != self.world_size:
            raise ValueError(f"microbatch_counts has {len(self.microbatch_counts)} entries: "
                             f"give K_r for each of the {self.world_size} ranks")
        for r, (used, known) in enumerate(zip(seen, self.microbatch_counts, strict=True)):
            if used > known:
                raise ValueError(f"rank {r} has a slot in microbatch {used - 1} of only {known}")
        if self.accumulation_steps is None:
            put("accumulation_steps", max(1, *self.microbatch_counts))
        _at_least("accumulation_steps", self.accumulation_steps, 1)
        if self.nominal_batch_size is not None:
            _at_least("nominal_batch_size", self.nominal_batch_size, 1)
        if self.unshifted_counts is not None:
            put("unshifted_counts", _counts_table("unshifted_counts", self.unshifted_counts))
            if tuple(map(len, self.unshifted_counts)) != self.microbatch_counts:
                raise ValueError("unshifted_counts must have one count for every microbatch of every rank")
        if self.groups is not None:
            put("groups", tuple(tuple(sorted(group)) for group in self.groups))
            if sorted(r for group in self.groups for r in group) != list(range(self.world_size)):
                raise ValueError(f"groups {self.groups} must hold each of the {self.world_size} ranks once")

        if not any(self.valid):
            raise ValueError("the window has no item (N = 0): there is nothing to average")
        if any(not math.isfinite(w) or w < 0 for w in self.sample_weight or ()):
            raise ValueError("sample weights must be finite and not negative")
        if not self.weight_sum > 0:
            raise ValueError("the sample weights of the window sum to 0 (W = 0): there is nothing to average")

    # ---- ways to make one

    @classmethod
    def from_counts(
        cls,
        counts: Sequence,
        *,
        padding: Sequence | None = None,
        sample_weights: Sequence | None = None,
        examples: Sequence | None = None,
        **facts,
    ) -> UpdateWindow:
        """From counts[r][k], or counts[r] when every rank has one microbatch; K_r may differ between ranks.

        `padding` has the shape of counts: padded slots behind the items of each microbatch. `sample_weights`
        and `examples` hold one entry per item, nested like the items: [r][k][i] (or [r][i]). `facts` are
        further fields of `UpdateWindow`.
        """
        table = _counts_table("counts", counts)
        flat = all(isinstance(row, Integral) for row in _plain(counts))
        none = [[0] * len(row) for row in table]
        padded = none if padding is None else _counts_table("padding", padding)
        if [len(row) for row in padded] != [len(row) for row in table]:
            raise ValueError("padding must have the shape of counts")
        per_item = {"sample_weight": _nested("sample_weights", sample_weights, table, flat),
                    "example": _nested("examples", examples, table, flat)}

        rank, microbatch, valid = [], [], []
        columns: dict[str, list] = {name: [] for name, rows in per_item.items() if rows is not None}
        for r, row in enumerate(table):
            for k, count in enumerate(row):
                slots = count + padded[r][k]
                rank += [r] * slots
                microbatch += [k] * slots
                valid += [True] * count + [False] * padded[r][k]
                for name, column in columns.items():
                    filler = 0.0 if name == "sample_weight" else -1
                    column += [*per_item[name][r][k], *[filler] * padded[r][k]]
        facts = {"world_size": len(table), "microbatch_counts": tuple(map(len, table)), **facts}
        return cls(tuple(rank), tuple(microbatch), valid=tuple(valid),
                   **{name: tuple(column) for name, column in columns.items()}, **facts)

    @classmethod
    def from_lengths(cls, lengths: Sequence, **facts) -> UpdateWindow:
        """From the items of each sequence: lengths[r][k][s], or lengths[r][s] with one microbatch each."""
        lengths = [list(row) for row in _plain(lengths)]
        if all(isinstance(entry, Integral) for row in lengths for entry in row):
            lengths = [[row] for row in lengths]
        _counts_table("lengths", [sequences for row in lengths for sequences in row])
        cells = [(r, k, s) for r, row in enumerate(lengths) for k, sequences in enumerate(row)
                 for s, length in enumerate(sequences) for _ in range(length)]
        facts = {"world_size": len(lengths), "microbatch_counts": tuple(map(len, lengths)), **facts}
        rank, microbatch, sequence = (tuple(c[i] for c in cells) for i in range(3))
        return cls(rank, microbatch, sequence=sequence, **facts)

    @classmethod
    def from_masks(cls, masks: Sequence[Sequence[Tensor]], **facts) -> UpdateWindow:
        """From masks[r][k]: tensors [B, T] (or [n]), true where a slot counts. A row is a sequence."""
        rank, microbatch, sequence, valid = [], [], [], []
        for r, row in enumerate(masks):
            for k, mask in enumerate(row):
                mask = torch.as_tensor(mask)
                if mask.ndim not in (1, 2):
                    raise ValueError(f"the mask of rank {r}, microbatch {k} has shape {list(mask.shape)}: "
                                     "give [B, T] or [n]")
                width = mask.shape[1] if mask.ndim == 2 else 1
                rank += [r] * mask.numel()
                microbatch += [k] * mask.numel()
                sequence += [i // width for i in range(mask.numel())]
                valid += mask.flatten().bool().tolist()
        facts = {"world_size": len(masks), "microbatch_counts": tuple(len(row) for row in masks), **facts}
        return cls(tuple(rank), tuple(microbatch), valid=tuple(valid), sequence=tuple(sequence), **facts)

    @classmethod
    def from_labels(
        cls,
        labels: Sequence[Sequence[Tensor]],
        *,
        ignore_index: int = IGNORE_INDEX,
        shift: bool = True,
        **facts,
    ) -> UpdateWindow:
        """From labels[r][k]: token ids [B, T], where `ignore_index` does not count.

        With `shift` (causal language models) position t predicts label t+1, so the targets are
        labels[:, 1:]; the counts before the shift are kept, because counting those is a common mistake.
        """
        labels = [[torch.as_tensor(batch) for batch in row] for row in labels]
        for r, row in enumerate(labels):
            for k, batch in enumerate(row):
                if batch.ndim != 2:
                    raise ValueError(f"the labels of rank {r}, microbatch {k} have shape "
                                     f"{list(batch.shape)}: give [B, T]")
        if shift:
            unshifted = tuple(tuple(int((b != ignore_index).sum()) for b in row) for row in labels)
            facts = {"unshifted_counts": unshifted, **facts}
            labels = [[batch[:, 1:] for batch in row] for row in labels]
        return cls.from_masks([[batch != ignore_index for batch in row] for row in labels], **facts)

    @classmethod
    def from_batches(
        cls,
        batches: Sequence[Iterable],
        *,
        labels: Callable[[object], Tensor] | None = None,
        ignore_index: int = IGNORE_INDEX,
        shift: bool = True,
        **facts,
    ) -> UpdateWindow:
        """From batches[r]: what rank r's DataLoader yields in this window, one batch per microbatch.

        `labels` finds the labels in a batch; left out, it is batch["labels"] of a dict and the last entry of
        a tuple. Integer labels [B, T] are token ids (see `from_labels`); anything else counts its rows.
        """
        find = labels or _labels_of
        found = [[torch.as_tensor(find(batch)) for batch in row] for row in batches]
        every = [entry for row in found for entry in row]
        if every and all(entry.ndim == 2 and not entry.is_floating_point() for entry in every):
            return cls.from_labels(found, ignore_index=ignore_index, shift=shift, **facts)
        return cls.from_counts([[len(entry) for entry in row] for row in found], **facts)

    # ---- counts

    @cached_property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """counts[r][k] = n_rk, items of microbatch k on rank r."""
        return self._tally(self.valid)

    @cached_property
    def slot_counts(self) -> tuple[tuple[int, ...], ...]:
        """slot_counts[r][k]: items and padding."""
        return self._tally((True,) * len(self.rank))

    @cached_property
    def rank_counts(self) -> tuple[int, ...]:
        """rank_counts[r] = n_r."""
        return tuple(sum(row) for row in self.counts)

    @cached_property
    def item_count(self) -> int:
        """N, the items of the window; every copy of an example counts."""
        return sum(self.valid)

    @cached_property
    def weight_sum(self) -> float:
        """W, the sum of the sample weights of the items; N without sample weights."""
        if self.sample_weight is None:
            return float(self.item_count)
        return math.fsum(w for w, counts in zip(self.sample_weight, self.valid, strict=True) if counts)

    @property
    def is_weighted(self) -> bool:
        return self.sample_weight is not None

    # ---- items, in slot order: tensors of shape [N]

    @cached_property
    def item_slots(self) -> Tensor:
        """Which slot each item has."""
        return torch.tensor([i for i, counts in enumerate(self.valid) if counts])

    @cached_property
    def item_ranks(self) -> Tensor:
        return torch.tensor(self.rank)[self.item_slots]

    @cached_property
    def item_microbatches(self) -> Tensor:
        return torch.tensor(self.microbatch)[self.item_slots]

    @cached_property
    def item_groups(self) -> Tensor:
        """A number for the (rank, microbatch) of each item: 0, 1, … in order of rank and microbatch."""
        starts = torch.tensor([0, *self.microbatch_counts]).cumsum(0)
        return starts[self.item_ranks] + self.item_microbatches

    @cached_property
    def item_weights(self) -> Tensor:
        """Sample weights; 1 without."""
        if self.sample_weight is None:
            return torch.ones(self.item_count, dtype=torch.float64)
        return torch.tensor(self.sample_weight, dtype=torch.float64)[self.item_slots]

    @cached_property
    def item_copies(self) -> Tensor:
        """How many items are copies of the same example (1 where `example` is not given)."""
        if self.example is None:
            return torch.ones(self.item_count, dtype=torch.float64)
        examples = [self.example[i] for i in self.item_slots.tolist()]
        copies = Counter(examples)
        return torch.tensor([copies[e] for e in examples], dtype=torch.float64)

    @cached_property
    def expected_weights(self) -> Tensor:
        """The weight [N] that the objective gives each item: 1/N, or w_i/W with sample weights.

        Copies of one example share the weight of one.
        """
        amounts = self.item_weights / self.item_copies
        return amounts / amounts.sum()

    def _tally(self, counted: Sequence[bool]) -> tuple[tuple[int, ...], ...]:
        table = [[0] * count for count in self.microbatch_counts]
        for r, k, counts in zip(self.rank, self.microbatch, counted, strict=True):
            table[r][k] += counts
        return tuple(map(tuple, table))


def _plain(values):
    return values.tolist() if isinstance(values, Tensor) else values


def _at_least(name: str, value, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")


def _integers(name: str, values: Iterable, least: int | None = 0) -> tuple[int, ...]:
    values = tuple(_plain(values))
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError(f"{name} holds {value!r}: integers are needed")
        if least is not None and value < least:
            raise ValueError(f"{name} holds {value}: it must not be negative")
    return tuple(map(int, values))


def _counts_table(name: str, counts) -> tuple[tuple[int, ...], ...]:
    rows = list(_plain(counts))
    if not rows:
        raise ValueError(f"{name} is empty: give one entry per rank")
    rows = [_plain(row) for row in rows]
    flat = [isinstance(row, Integral) for row in rows]
    if any(isinstance(row, Real) and not isinstance(row, Integral) for row in rows):
        raise ValueError(f"{name} holds a number that is not an integer")
    if any(flat) and not all(flat):
        raise ValueError(f"{name} mixes numbers and lists: give one number per rank, or one list per rank")
    return tuple(_integers(name, [row] if isinstance(row, Integral) else row) for row in rows)


def _nested(name: str, values, table, flat: bool):
    """values[r][k][i] with the lengths that the table of counts says; a flat table allows values[r][i]."""
    if values is None:
        return None
    rows = [_plain(row) for row in _plain(values)]
    if flat and not all(len(row) == 1 and hasattr(row[0], "__len__") for row in rows):
        rows = [[row] for row in rows]
    rows = [[list(_plain(cell)) for cell in row] for row in rows]
    if [[len(cell) for cell in row] for row in rows] != [list(row) for row in table]:
        raise ValueError(f"{name} must hold one entry per item, nested like the counts {table}")
    return rows


def _labels_of(batch) -> Tensor:
    if isinstance(batch, dict):
        if "labels" not in batch:
            raise ValueError('a batch has no entry "labels": say with labels=… where they are')
        return batch["labels"]
    return batch[-1] if isinstance(batch, (tuple, list)) else batch
