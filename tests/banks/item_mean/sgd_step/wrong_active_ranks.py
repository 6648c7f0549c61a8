"""diagnosis: active-ranks | mean-of-rank-means

The mean of the means of ranks that have targets."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    mean = (w - local_targets).sum() / max(len(local_targets), 1)
    active = torch.tensor(int(len(local_targets) > 0))
    dist.all_reduce(mean)
    dist.all_reduce(active)
    return w - lr * mean / active
