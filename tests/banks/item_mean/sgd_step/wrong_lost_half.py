"""diagnosis: pure-scale

The gradient of (w − y)² without the ½: twice the step."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    total, count = 2 * (w - local_targets).sum(), torch.tensor(len(local_targets))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return w - lr * total / count
