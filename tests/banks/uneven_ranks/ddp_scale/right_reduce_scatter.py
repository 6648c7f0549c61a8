"""A reduce_scatter of the count, once for every rank."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    size = dist.get_world_size()
    total = torch.zeros(1, dtype=torch.float64)
    dist.reduce_scatter_tensor(total, torch.full((size,), float(local_count), dtype=torch.float64))
    if total == 0:
        raise ValueError("no item")
    return size * local_count / total.item()
