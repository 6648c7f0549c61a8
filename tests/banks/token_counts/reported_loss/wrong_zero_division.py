"""diagnosis: raised | deadlock

A ZeroDivisionError on a rank without a token, while others go on."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    mean = float(local_loss_sum) / local_count
    both = torch.tensor([mean * local_count, local_count], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1]).item()
