"""diagnosis: sum-of-rank-means

Local means under a sum."""

import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    gradient = (w - local_targets).sum() / max(len(local_targets), 1)
    dist.all_reduce(gradient)
    return w - lr * gradient
