"""diagnosis: deadlock

A ring in which everybody receives first: nobody ever sends."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    total = torch.cat([local_gradients.sum(0), torch.tensor([len(local_gradients)])])
    passing = total.clone()
    for _ in range(world_size - 1):
        incoming = torch.empty_like(passing)
        dist.recv(incoming, (rank - 1) % world_size)
        dist.send(passing, (rank + 1) % world_size)
        total, passing = total + incoming, incoming
    return total[:-1] / total[-1]
