"""diagnosis: nan-or-inf

The right weighting of local means, but an empty rank contributes 0 · NaN."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    count = torch.tensor(len(local_gradients))
    dist.all_reduce(count)
    part = local_gradients.mean(0) * len(local_gradients) / count
    dist.all_reduce(part)
    return part
