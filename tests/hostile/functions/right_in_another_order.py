"""outcome: right

Gathers all items and computes the mean in one go, with other rounding.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, local_gradients.detach())
    return torch.cat(parts).double().mean(0).to(local_gradients.dtype)
