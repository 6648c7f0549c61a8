"""diagnosis: rank-lost

All log the mean of rank 0: the other ranks' tokens are lost."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    if both[1] == 0:
        raise ValueError("no rank has a valid token")
    mean = torch.tensor(float(local_loss_sum) / max(local_count, 1), dtype=torch.float64)
    dist.broadcast(mean, src=0)
    return mean.item()
