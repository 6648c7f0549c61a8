"""diagnosis: pure-scale

A factor 2 that belonged to the derivative of a square."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total, count = local_gradients.sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return 2 * total / count
