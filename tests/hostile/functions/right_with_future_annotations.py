"""outcome: right

Postponed annotations in a cell in the middle, a dataclass and a match statement.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class Sums:
    total: torch.Tensor
    count: torch.Tensor

    def reduced(self) -> Sums:
        for tensor in (self.total, self.count):
            dist.all_reduce(tensor)
        return self


def synchronized_item_mean(local_gradients: torch.Tensor) -> torch.Tensor:
    @dataclass
    class Local:
        rows: Sums | None

    sums = Local(Sums(local_gradients.double().sum(0), torch.tensor(len(local_gradients)))).rows.reduced()
    match sums:
        case Sums(total=total, count=count):
            return (total / count.item()).to(local_gradients.dtype)
