"""diagnosis: not-synchronized | wrong-type

Only rank 0 returns something."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total, count = local_gradients.sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    if dist.get_rank() == 0:
        return total / count
