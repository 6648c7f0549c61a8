"""diagnosis: not-synchronized

A reduce without the broadcast: only rank 0 has the sum.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.double().clone()
    dist.reduce(total, dst=0)
    return total / dist.get_world_size()
