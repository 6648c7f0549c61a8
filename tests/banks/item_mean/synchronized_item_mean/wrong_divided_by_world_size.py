"""diagnosis: divided-by-world-size

Sums, then divides by the number of ranks instead of the number of items."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(0)
    dist.all_reduce(total)
    return total / dist.get_world_size()
