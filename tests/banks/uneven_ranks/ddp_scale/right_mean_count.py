"""n_r over the mean count: N/P is an average, and AVG gives it."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    mean_count = torch.tensor(float(local_count), dtype=torch.float64)
    dist.all_reduce(mean_count, op=dist.ReduceOp.AVG)
    if not mean_count > 0:
        raise ValueError("no rank has an item")
    return float(local_count / mean_count)
