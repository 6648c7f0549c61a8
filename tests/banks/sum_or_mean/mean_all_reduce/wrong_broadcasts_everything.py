"""diagnosis: forbidden-operation

One broadcast from each rank is a gather in disguise: nothing is reduced.
"""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    total = torch.zeros_like(tensor, dtype=torch.float64)
    for source in range(dist.get_world_size()):
        part = tensor.double().clone()
        dist.broadcast(part, src=source)
        total += part
    return total / dist.get_world_size()
