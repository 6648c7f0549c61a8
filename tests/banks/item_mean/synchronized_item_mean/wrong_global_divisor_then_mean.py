"""diagnosis: global-divisor-then-mean

Divides by N and lets the reduction average as well: the update is P times too small."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    count = torch.tensor(len(local_gradients))
    dist.all_reduce(count)
    part = local_gradients.sum(0) / count
    dist.all_reduce(part, op=dist.ReduceOp.AVG)
    return part
