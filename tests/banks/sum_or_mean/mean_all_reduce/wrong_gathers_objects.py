"""diagnosis: forbidden-operation

Pickled tensors from everybody: the slowest way to gather.
"""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, tensor.tolist())
    return torch.tensor(parts, dtype=torch.float64).mean(0)
