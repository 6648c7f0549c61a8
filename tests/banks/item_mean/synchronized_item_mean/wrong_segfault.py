"""diagnosis: rank-crashed

Rank 1 dies of a null pointer."""

import ctypes

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    if dist.get_rank() == 1:
        ctypes.string_at(0)
    total, count = local_gradients.sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
