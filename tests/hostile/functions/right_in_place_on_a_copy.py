"""outcome: right

Works in place on a copy of its argument.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    work = local_gradients.detach().clone().double()
    total = work.sum(0)
    count = torch.tensor(len(work))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.div_(count.item()).to(local_gradients.dtype)
