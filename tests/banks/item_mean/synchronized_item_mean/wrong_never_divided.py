"""diagnosis: never-divided

Sums over everything and stops."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(0)
    dist.all_reduce(total)
    return total
