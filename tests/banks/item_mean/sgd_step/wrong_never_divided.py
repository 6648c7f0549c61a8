"""diagnosis: never-divided

The sum of all gradients: a step N times too long."""

import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    gradient = (w - local_targets).sum()
    dist.all_reduce(gradient)
    return w - lr * gradient
