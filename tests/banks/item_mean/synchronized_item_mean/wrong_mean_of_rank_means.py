"""diagnosis: mean-of-rank-means

What DistributedDataParallel does: local mean, mean over ranks; empty ranks add zero."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    mean = local_gradients.sum(0)
    if len(local_gradients):
        mean = mean / len(local_gradients)
    dist.all_reduce(mean)
    return mean / dist.get_world_size()
