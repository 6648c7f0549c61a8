"""Rank 0 collects, divides and broadcasts the mean."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(0)
    count = torch.tensor([float(len(local_gradients))])
    dist.reduce(total, dst=0)
    dist.reduce(count, dst=0)
    if dist.get_rank() == 0:
        total /= count
    dist.broadcast(total, src=0)
    return total
