"""diagnosis: changed-its-argument

Pads nothing, clones nothing: scales the caller's gradients in place before the sum."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    count = torch.tensor(len(local_gradients))
    dist.all_reduce(count)
    local_gradients /= count
    total = local_gradients.sum(0)
    dist.all_reduce(total)
    return total
