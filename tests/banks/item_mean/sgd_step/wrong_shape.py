"""diagnosis: wrong-shape

A vector of one element instead of a 0-d tensor."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    total = (w - local_targets).sum().reshape(1)
    count = torch.tensor([len(local_targets)])
    dist.all_reduce(total)
    dist.all_reduce(count)
    return w - lr * total / count
