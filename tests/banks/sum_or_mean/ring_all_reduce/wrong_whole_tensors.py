"""diagnosis: sent-too-much

The simple ring: right in value, and each rank sends P − 1 whole tensors.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    total, passing = tensor.clone(), tensor.clone()
    for _ in range(world_size - 1):
        sending = dist.isend(passing, (rank + 1) % world_size)
        arriving = torch.empty_like(passing)
        dist.recv(arriving, (rank - 1) % world_size)
        sending.wait()
        total += arriving
        passing = arriving
    return total
