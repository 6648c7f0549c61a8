"""functools.partial of a decorated closure."""

from __future__ import annotations

import functools

import torch
import torch.distributed as dist


def timed(function):
    @functools.wraps(function)
    def inner(*args: torch.Tensor, **kwargs: object) -> torch.Tensor:
        return function(*args, **kwargs)

    return inner


@timed
def item_mean(op, local_gradients: torch.Tensor) -> torch.Tensor:
    both = [local_gradients.sum(0), torch.tensor([len(local_gradients)])]
    for tensor in both:
        op(tensor)
    return both[0] / both[1]


synchronized_item_mean = functools.partial(item_mean, dist.all_reduce)
