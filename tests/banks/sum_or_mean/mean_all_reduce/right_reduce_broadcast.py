"""A reduce to rank 0, a division there, and a broadcast of the mean."""

import torch.distributed as dist


def mean_all_reduce(tensor):
    mean = tensor.detach().double().contiguous().clone()
    dist.reduce(mean, dst=0)
    if dist.get_rank() == 0:
        mean /= dist.get_world_size()
    dist.broadcast(mean, src=0)
    return mean
