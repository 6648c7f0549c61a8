"""diagnosis: no-update

Computes the gradient and returns the old w."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    total, count = (w - local_targets).sum(), torch.tensor(len(local_targets))
    dist.all_reduce(total)
    dist.all_reduce(count)
    gradient = total / count
    new_w = w.clone()
    new_w.grad = gradient
    return new_w
