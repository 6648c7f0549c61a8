"""outcome: right

Works and returns in float64, whatever it is given.
"""
import torch
import torch.distributed as dist


def item_mean(local_gradients):
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)


def synchronized_item_mean(local_gradients):
    return item_mean(local_gradients.double())
