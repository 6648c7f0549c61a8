"""diagnosis: mean-of-rank-means

9.8 instead of 9.75 in the worked example: local means, averaged."""

import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    gradient = (w - local_targets).sum() / max(len(local_targets), 1)
    dist.all_reduce(gradient)
    return w - lr * gradient / dist.get_world_size()
