"""diagnosis: mean-of-rank-means

Guards the local mean with max(n, 1), which cures the NaN and leaves the weights wrong."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    mean = local_gradients.sum(0) / max(len(local_gradients), 1)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean
