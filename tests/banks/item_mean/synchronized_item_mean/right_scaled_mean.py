"""A local mean, scaled by P·n_r/N, under a mean over ranks: what DistributedDataParallel needs."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    n = len(local_gradients)
    total = torch.tensor(n)
    dist.all_reduce(total)
    if n:
        scaled = local_gradients.mean(0) * (dist.get_world_size() * n / total.item())
    else:
        scaled = local_gradients.new_zeros(local_gradients.shape[1])
    dist.all_reduce(scaled, op=dist.ReduceOp.AVG)
    return scaled
