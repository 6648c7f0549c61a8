"""Blocking neighbours in a ring: even ranks send first, odd ones receive first."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    passing = torch.cat([local_gradients.sum(0), torch.tensor([len(local_gradients)])])
    total = passing.clone()
    right, left = (rank + 1) % world_size, (rank - 1) % world_size
    for _ in range(world_size - 1):
        incoming = torch.empty_like(passing)
        request = dist.isend(passing, right)
        dist.recv(incoming, left)
        request.wait()
        total += incoming
        passing = incoming
    return total[:-1] / total[-1]
