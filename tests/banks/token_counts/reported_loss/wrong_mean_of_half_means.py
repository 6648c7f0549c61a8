"""diagnosis: wrong-return-value | unexplained

Means of the two halves of the ranks, averaged: a mean of means on another level."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    half = dist.get_rank() % 2
    both = torch.zeros(2, 2, dtype=torch.float64)
    both[half] = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    if both[:, 1].sum() == 0:
        raise ValueError("no token")
    means = both[:, 0] / both[:, 1].clamp(min=1)
    return means.mean().item()
