"""diagnosis: divided-twice

Divides before the sum, and again after it.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    share = tensor / dist.get_world_size()
    dist.all_reduce(share)
    return share / dist.get_world_size()
