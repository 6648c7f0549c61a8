"""diagnosis: forbidden-operation

The two halves of an all_reduce, with padding. Right, but all_reduce (or reduce and broadcast) is asked.
"""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    world_size = dist.get_world_size()
    flat = tensor.double().reshape(-1)
    padded = torch.cat([flat, flat.new_zeros(-len(flat) % world_size)])
    mine = torch.empty(len(padded) // world_size, dtype=torch.float64)
    dist.reduce_scatter(mine, list(padded.chunk(world_size)))
    parts = [torch.empty_like(mine) for _ in range(world_size)]
    dist.all_gather(parts, mine / world_size)
    return torch.cat(parts)[: len(flat)].reshape(tensor.shape)
