"""diagnosis: missing-error

No token at all is reported as a loss of 0, the best value that there is."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.tensor([float(local_loss_sum), float(local_count)], dtype=torch.float64)
    dist.all_reduce(both)
    return (both[0] / both[1].clamp(min=1)).item()
