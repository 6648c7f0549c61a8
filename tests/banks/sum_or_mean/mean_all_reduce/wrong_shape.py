"""diagnosis: wrong-shape

Averages over the elements as well.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.double().mean().clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()
