"""diagnosis: changed-its-argument

all_reduce works in place, and `.double()` of a float64 tensor is that tensor.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.double()
    dist.all_reduce(total)
    return total / dist.get_world_size()
