"""diagnosis: divided-by-world-size

Local sums under a mean."""

import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    gradient = (w - local_targets).sum()
    dist.all_reduce(gradient, op=dist.ReduceOp.AVG)
    return w - lr * gradient
