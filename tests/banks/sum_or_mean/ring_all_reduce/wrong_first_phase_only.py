"""diagnosis: not-synchronized

Stops after the reduce-scatter: each rank has one complete chunk.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    result = tensor.clone()
    chunks = list(result.tensor_split(world_size))
    for step in range(world_size - 1):
        out, into = (rank - step) % world_size, (rank - step - 1) % world_size
        arriving = torch.empty_like(chunks[into])
        sending = dist.isend(chunks[out].clone(), (rank + 1) % world_size)
        dist.recv(arriving, (rank - 1) % world_size)
        sending.wait()
        chunks[into] += arriving
    return result
