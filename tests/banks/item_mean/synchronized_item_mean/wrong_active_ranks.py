"""diagnosis: active-ranks | mean-of-rank-means

The mean of the means of the ranks that have items."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    mean = local_gradients.sum(0) / max(len(local_gradients), 1)
    active = torch.tensor(1 if len(local_gradients) else 0)
    dist.all_reduce(mean)
    dist.all_reduce(active)
    return mean / active
