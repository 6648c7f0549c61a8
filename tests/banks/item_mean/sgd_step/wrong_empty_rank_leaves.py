"""diagnosis: deadlock

A rank without targets returns w at once; the others wait."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    if local_targets.numel() == 0:
        return w.clone()
    total, count = (w - local_targets).sum(), torch.tensor(len(local_targets))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return w - lr * total / count
