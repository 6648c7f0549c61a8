"""Two reductions, the count as an integer."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    total = torch.as_tensor(local_loss_sum, dtype=torch.float64).detach().clone()
    count = torch.tensor(local_count)
    dist.all_reduce(total)
    dist.all_reduce(count)
    if not count:
        raise ValueError("N = 0")
    return float(total) / int(count)
