"""diagnosis: sent-too-much

The whole tensor goes around once to be added up, and once more to be told: 2s for most ranks.
"""

import torch.distributed as dist


def ring_all_reduce(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    total = tensor.clone()
    after, before = (rank + 1) % world_size, (rank - 1) % world_size
    if world_size == 1:
        return total
    if rank:
        dist.recv(total, before)
        total += tensor
    dist.send(total, after)
    if rank < world_size - 1 or world_size == 1:
        dist.recv(total, before)
    if rank < world_size - 2:
        dist.send(total, after)
    if rank == 0 and world_size > 1:
        pass
    return total
