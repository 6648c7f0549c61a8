"""diagnosis: pure-scale

Divides by P − 1: "the other ranks".
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.double().clone()
    dist.all_reduce(total)
    return total / max(dist.get_world_size() - 1, 1)
