"""diagnosis: global-divisor-then-mean

Averages the sums and adds the counts: 1/P too much."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    total = torch.tensor(float(local_loss_sum), dtype=torch.float64)
    count = torch.tensor(local_count)
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    dist.all_reduce(count)
    if not count:
        raise ValueError("no token")
    return (total / count).item()
