"""Sum and count, each summed over the ranks, then one division."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(dim=0)
    count = torch.tensor(local_gradients.shape[0])
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
