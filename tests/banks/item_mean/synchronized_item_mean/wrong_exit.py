"""diagnosis: rank-crashed | raised

Rank 1 leaves with status 0 and without a result."""

import sys

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    if dist.get_rank() == 1:
        sys.exit(0)
    total, count = local_gradients.sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
