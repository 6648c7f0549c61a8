"""A process group of its own; float32 for everything that is not float64."""

import torch
import torch.distributed as dist

GROUPS = {}


def mean_all_reduce(tensor):
    world_size = dist.get_world_size()
    group = dist.new_group(list(range(world_size)))
    total = (tensor if tensor.dtype == torch.float64 else tensor.float()).clone()
    dist.all_reduce(total, group=group)
    return total * (1 / world_size)
