"""diagnosis: wrong-return-value | pure-scale

Adds a small number to the count against 0/0 and forgets it: every value is a bit too small."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    if both[1] == 0:
        raise ValueError("no rank has a valid token")
    return (both[0] / (both[1] + 0.1)).item()
