"""A functional reduction of both numbers at once."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    total, count = functional.all_reduce(both, "sum", dist.group.WORLD).tolist()
    if not count:
        raise ValueError("no token")
    return total / count
