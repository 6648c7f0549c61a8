"""diagnosis: pure-scale | unexplained

A learning rate of its own."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    total, count = (w - local_targets).sum(), torch.tensor(len(local_targets))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return w - 1e-3 * total / count
