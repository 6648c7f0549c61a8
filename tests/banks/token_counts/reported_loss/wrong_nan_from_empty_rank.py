"""diagnosis: nan-or-inf

0/0 on a rank without a token, and then a share of 0 times NaN."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    if both[1] == 0:
        raise ValueError("no rank has a valid token")
    mean = torch.tensor(float(local_loss_sum)) / torch.tensor(float(local_count))
    report = (mean * local_count / both[1]).double()
    dist.all_reduce(report)
    return report.item()
