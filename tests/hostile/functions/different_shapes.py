"""outcome: wrong | error | limit

Ranks meet in one all-reduce with tensors of different shapes.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = torch.ones(dist.get_rank() + 1)
    dist.all_reduce(total)
    return total[:1]
