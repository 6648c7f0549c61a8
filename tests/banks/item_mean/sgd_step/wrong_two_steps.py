"""diagnosis: pure-scale | wrong-number-of-steps | unexplained

Steps once in the loop and once after it."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    for _ in range(2):
        total, count = (w - local_targets).sum(), torch.tensor(len(local_targets))
        dist.all_reduce(total)
        dist.all_reduce(count)
        w = w - lr * total / count
    return w
