"""outcome: wrong

Sums into its argument, which the caller still needs.
"""
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    local_gradients -= local_gradients.sum()
    count = torch.tensor(len(local_gradients))
    total = local_gradients.double().sum(0)
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)
