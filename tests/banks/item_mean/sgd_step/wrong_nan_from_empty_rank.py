"""diagnosis: nan-or-inf

The mean over no targets is NaN, and NaN times 0 stays NaN."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    count = torch.tensor(len(local_targets))
    dist.all_reduce(count)
    part = (w - local_targets).mean() * (len(local_targets) / count)
    dist.all_reduce(part)
    return w - lr * part
