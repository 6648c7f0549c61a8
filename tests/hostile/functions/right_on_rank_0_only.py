"""outcome: wrong

Reduces to rank 0, which alone ends with the item mean.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total, count = local_gradients.double().sum(0), torch.tensor(float(len(local_gradients)))
    dist.reduce(total, 0)
    dist.reduce(count, 0)
    return (total / count).to(local_gradients.dtype)
