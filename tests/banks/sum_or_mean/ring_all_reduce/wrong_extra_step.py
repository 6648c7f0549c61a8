"""diagnosis: sent-too-much

P steps in the second phase instead of P − 1: the last chunk comes home once more.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    result = tensor.clone()
    chunks = list(result.tensor_split(world_size))
    if world_size == 1:
        return result
    for phase, steps in enumerate((world_size - 1, world_size)):
        for step in range(steps):
            out, into = (rank - step + phase) % world_size, (rank - step - 1 + phase) % world_size
            arriving = torch.empty_like(chunks[into])
            sending = dist.isend(chunks[out].clone(), (rank + 1) % world_size)
            dist.recv(arriving, (rank - 1) % world_size)
            sending.wait()
            chunks[into].copy_(arriving if phase else arriving + chunks[into])
    return result
