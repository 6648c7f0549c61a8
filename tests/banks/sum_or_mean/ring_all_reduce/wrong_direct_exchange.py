"""diagnosis: forbidden-operation

Sends each chunk straight to the rank that sums it: as few bytes as the ring, but to everybody.
"""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    result = tensor.clone()
    chunks = list(result.tensor_split(world_size))
    for apart in range(1, world_size):
        to, source = (rank + apart) % world_size, (rank - apart) % world_size
        arriving = torch.empty_like(chunks[rank])
        sending = dist.isend(tensor.tensor_split(world_size)[to].clone(), to)
        dist.recv(arriving, source)
        sending.wait()
        chunks[rank] += arriving
    for apart in range(1, world_size):
        to, source = (rank + apart) % world_size, (rank - apart) % world_size
        sending = dist.isend(chunks[rank].clone(), to)
        dist.recv(chunks[source], source)
        sending.wait()
    return result
