"""Chunks of ⌈n/P⌉ as views of the result; isend, recv, wait."""

import torch
import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    result = tensor.detach().clone()
    size = -(-len(result) // world_size)
    chunks = [result[i * size : (i + 1) * size] for i in range(world_size)]
    after, before = (rank + 1) % world_size, (rank - 1) % world_size
    for step in range(world_size - 1):
        leaving, coming = chunks[(rank - step) % world_size], chunks[(rank - step - 1) % world_size]
        arriving = torch.empty_like(coming)
        sending = dist.isend(leaving, after)
        dist.recv(arriving, before)
        sending.wait()
        coming += arriving
    for step in range(world_size - 1):
        leaving, coming = chunks[(rank + 1 - step) % world_size], chunks[(rank - step) % world_size]
        sending = dist.isend(leaving, after)
        dist.recv(coming, before)
        sending.wait()
    return result
