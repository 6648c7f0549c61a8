"""diagnosis: raised

The neighbour of the last rank is not rank P: the ring is not closed.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    result = tensor.clone()
    chunks = list(result.tensor_split(world_size))
    for phase in (0, 1):
        for step in range(world_size - 1):
            out, into = (rank - step + phase) % world_size, (rank - step - 1 + phase) % world_size
            arriving = torch.empty_like(chunks[into])
            sending = dist.isend(chunks[out].clone(), rank + 1)
            dist.recv(arriving, (rank - 1) % world_size)
            sending.wait()
            chunks[into].copy_(arriving if phase else arriving + chunks[into])
    return result
