"""diagnosis: deadlock

"Nothing to do here": the empty rank returns before the reduction, and the others wait for it."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    if len(local_gradients) == 0:
        return torch.zeros(local_gradients.shape[1], dtype=local_gradients.dtype)
    total, count = local_gradients.sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
