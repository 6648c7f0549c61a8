"""The ratio of two averages: P cancels."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both, op=dist.ReduceOp.AVG)
    average, count = both.tolist()
    if not count:
        raise ValueError("no token")
    return average / count
