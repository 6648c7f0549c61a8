"""Probe data: short sequences whose first token says which one it is, of very different lengths.

Samplers shuffle, wrap around and split batches in ways of their own, so nothing is assumed about which rank
gets what: the first token of a row in the forward call tells. Contexts are distinct, which makes the gradients
of a model that sees them independent; lengths differ, so that no wrong divisor looks right.
"""
from __future__ import annotations

import torch
from torch import Tensor

from autograder.probe_model import ProbeModel
from autograder.window import IGNORE_INDEX

__all__ = ["ProbeData", "ProbeModel"]

PAD = 0
# Shares of the length that the rows of consecutive batches fill. The period, 5, divides neither P nor P·K for the
# usual numbers of ranks, so that ranks and windows get unlike shares.
_SIZES = ((0.75, 1.0), (0.17, 0.34), (0.75, 1.0), (0.34, 0.67), (0.34, 0.67))


class ProbeData(torch.utils.data.Dataset):
    """M sequences of T tokens as a data set, and as the microbatches of every rank.

    data[i] is {"input_ids": [T], "labels": [T]} for samplers and loaders; `data.batches` are this rank's
    microbatches, dicts of the same with rows padded to the longest of the microbatch. Batch j of `batch_size`
    consecutive rows is microbatch j // P of rank j % P. Labels equal the ids, `IGNORE_INDEX` on padding and on
    the prompt that some rows have. `accumulation_steps` is the configured K; there are `microbatches` per rank:
    with K > 1 by default 2K − 1, one full window and a partial one. Raises ValueError for more sequences than
    the vocabulary can tell apart.
    """

    def __init__(self, world_size: int = 2, accumulation_steps: int = 1, *, microbatches: int | None = None,
                 batch_size: int = 2, vocabulary: int = 64, length: int = 12, sequences: int | None = None,
                 seed: int = 0) -> None:
        self.world_size, self.accumulation_steps, self.batch_size = world_size, accumulation_steps, batch_size
        self.microbatches = 2 * accumulation_steps - 1 if microbatches is None else microbatches
        self.vocabulary = vocabulary
        if sequences is None:
            sequences = world_size * self.microbatches * batch_size
        if sequences >= vocabulary:
            raise ValueError(f"{sequences} sequences need a vocabulary of more than {sequences} tokens, not "
                             f"{vocabulary}: take fewer ranks, microbatches or rows, or a larger vocabulary")
        if length < 4:
            raise ValueError(f"length must be at least 4, not {length}")
        generator = torch.Generator().manual_seed(seed)
        self.input_ids = torch.randint(1, vocabulary, (sequences, length), generator=generator)
        self.input_ids[:, 0] = torch.arange(1, sequences + 1)
        self.labels = self.input_ids.clone()
        for row in range(sequences):
            low, high = _SIZES[(row // batch_size) % len(_SIZES)]
            low, high = max(2, round(low * length)), round(high * length)
            used = int(torch.randint(low, high + 1, (), generator=generator))
            prompt = int(torch.randint(1, used, (), generator=generator)) if row % 4 == 3 else 0
            self.input_ids[row, used:] = PAD
            self.labels[row, used:] = IGNORE_INDEX
            self.labels[row, :prompt] = IGNORE_INDEX

    def __len__(self) -> int:
        return len(self.input_ids)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"input_ids": self.input_ids[index], "labels": self.labels[index]}

    @property
    def batches(self) -> list[dict[str, Tensor]]:
        """The microbatches of this rank, all windows one after the other."""
        return self.batches_of(_own_rank())

    @property
    def windows(self) -> list[list[dict[str, Tensor]]]:
        """The microbatches of this rank, window by window; the last window may be partial."""
        batches, k = self.batches, self.accumulation_steps
        return [batches[start:start + k] for start in range(0, len(batches), k)]

    def batches_of(self, rank: int) -> list[dict[str, Tensor]]:
        """The microbatches of `rank`."""
        starts = range(rank * self.batch_size, len(self), self.world_size * self.batch_size)
        return [self._batch(slice(start, start + self.batch_size)) for start in starts]

    def rows_of(self, ids: Tensor) -> list[int]:
        """Which sequences the rows of `ids` [B, T'] are. Raises ValueError when they are none of these."""
        rows = [int(first) - 1 for first in ids[:, 0]]
        for place, row in enumerate(rows):
            # The last token may be cut off, padding may be added or left out; what overlaps must agree.
            shared = min(ids.shape[1], self.input_ids.shape[1])
            known = 0 <= row < len(self)
            if not known or not torch.equal(ids[place, :shared].cpu(), self.input_ids[row, :shared]):
                raise ValueError(f"row {place} of a forward call is no sequence of the probe data: "
                                 f"{ids[place].tolist()}")
        return rows

    def _batch(self, rows: slice) -> dict[str, Tensor]:
        used = int((self.input_ids[rows] != PAD).sum(1).max())
        return {"input_ids": self.input_ids[rows, :used], "labels": self.labels[rows, :used]}


def _own_rank() -> int:
    distributed = torch.distributed
    return distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0
