"""Every rank also sums a 1: the divisor comes with the sum, and a barrier comes first."""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    dist.barrier()
    flat = torch.cat([tensor.detach().double().reshape(-1), torch.ones(1, dtype=torch.float64)])
    dist.all_reduce(flat)
    return (flat[:-1] / flat[-1]).reshape(tensor.shape)
