"""diagnosis: active-ranks | mean-of-rank-means

The average of the means of those ranks that have a token."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    if both[1] == 0:
        raise ValueError("no rank has a valid token")
    mean = torch.tensor([float(local_loss_sum) / max(local_count, 1), float(local_count > 0)], dtype=torch.float64)
    dist.all_reduce(mean)
    return (mean[0] / mean[1]).item()
