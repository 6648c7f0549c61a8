"""float32 throughout: a report does not need more."""

import torch
import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    both = torch.stack([torch.as_tensor(local_loss_sum).float(), torch.tensor(local_count).float()])
    dist.all_reduce(both)
    if not both[1].item():
        raise ValueError("no token")
    return both[0].item() / both[1].item()
