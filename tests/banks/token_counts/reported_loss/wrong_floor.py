"""diagnosis: wrong-return-value | overflow-or-truncation

Whole numbers only: // in place of /."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    if both[1] == 0:
        raise ValueError("no rank has a valid token")
    return float(both[0] // both[1])
