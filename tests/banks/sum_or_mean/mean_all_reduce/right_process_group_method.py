"""The process group's own method, below torch.distributed's functions."""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    t = tensor.to(torch.float64, copy=True)
    dist.group.WORLD.allreduce([t]).wait()
    return t / dist.group.WORLD.size()
