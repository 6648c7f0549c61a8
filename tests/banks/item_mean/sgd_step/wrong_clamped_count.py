"""diagnosis: clamped-count

Every rank counts at least one target."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    total = (w - local_targets).sum()
    count = torch.tensor(max(1, len(local_targets)))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return w - lr * total / count
