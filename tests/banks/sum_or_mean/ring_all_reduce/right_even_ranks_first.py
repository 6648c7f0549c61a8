"""Blocking calls only: even ranks send first and odd ones receive first, so no circle of waiting closes."""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    result = tensor.detach().clone()
    chunks = list(result.tensor_split(world_size))
    after, before = (rank + 1) % world_size, (rank - 1) % world_size

    def exchange(leaving, arriving):
        if rank % 2 == 0:
            dist.send(leaving, after)
            dist.recv(arriving, before)
        else:
            dist.recv(arriving, before)
            dist.send(leaving, after)

    for step in range(world_size - 1):
        arriving = torch.empty_like(chunks[rank - step - 1])
        exchange(chunks[rank - step], arriving)
        chunks[rank - step - 1] += arriving
    for step in range(world_size - 1):
        exchange(chunks[(rank - step + 1) % world_size], chunks[rank - step])
    return result
