"""diagnosis: unexplained | mean-of-rank-means

One step per target, then the weights are averaged: local SGD, not one step on the mean."""

import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    for y in local_targets:
        w = w - lr * (w - y)
    w = w.clone()
    dist.all_reduce(w, op=dist.ReduceOp.AVG)
    return w
