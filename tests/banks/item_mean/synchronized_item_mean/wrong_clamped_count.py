"""diagnosis: clamped-count

Every rank reports at least one item, so an empty rank makes N too large."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(0)
    count = torch.tensor(max(len(local_gradients), 1))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
