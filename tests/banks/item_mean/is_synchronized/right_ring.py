"""Compares with the left neighbour only; if all neighbours agree, all agree."""

import torch.distributed as dist


def is_synchronized(tensor):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    left = tensor.clone()
    if world_size > 1:
        sending = dist.isend(tensor, (rank + 1) % world_size)
        dist.irecv(left, (rank - 1) % world_size).wait()
        sending.wait()
    different = ~((left == tensor) | ((left != left) & (tensor != tensor)))
    number = different.sum()
    dist.all_reduce(number)
    return number.item() == 0
