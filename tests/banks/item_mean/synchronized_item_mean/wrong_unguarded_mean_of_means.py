"""diagnosis: mean-of-rank-means | nan-or-inf

The same without a thought for empty ranks: their mean is NaN, and reaches everybody."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    mean = local_gradients.mean(dim=0)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean
