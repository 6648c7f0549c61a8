"""diagnosis: unneeded-error | raised

Refuses to be an empty rank."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    if len(local_gradients) == 0:
        raise ValueError("this rank has no items")
    total, count = local_gradients.sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
