"""Prints and warns."""

import sys
import warnings

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    print("step", lr, file=sys.stderr)
    warnings.warn("about to step", stacklevel=2)
    total, count = (w - local_targets).sum(), torch.tensor([len(local_targets)])
    dist.all_reduce(total)
    dist.all_reduce(count)
    print("N =", int(count))
    return w - lr * total / int(count)
