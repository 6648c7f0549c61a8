"""diagnosis: deadlock

A rank without a token has nothing to report and returns."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    if local_count == 0:
        return 0.0
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()
