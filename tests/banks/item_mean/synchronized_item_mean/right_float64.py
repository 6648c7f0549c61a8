"""Float64 inside and out."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.double().sum(0)
    count = torch.tensor(len(local_gradients), dtype=torch.float64)
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
