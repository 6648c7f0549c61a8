"""diagnosis: changed-its-argument | raised

Reduces the caller's tensor in place: reported twice, it grows."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    total = local_loss_sum if isinstance(local_loss_sum, torch.Tensor) else torch.tensor(local_loss_sum).double()
    count = torch.tensor(local_count)
    dist.all_reduce(total)
    dist.all_reduce(count)
    if not count:
        raise ValueError("no token")
    return (total / count).item()
