"""outcome: right

A partial of a decorated closure around a lambda.
"""
import functools

import torch
import torch.distributed as dist


def item_mean(local_gradients):
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)



def logged(function):
    @functools.wraps(function)
    def wrapped(*args, scale=1.0, **kwargs):
        return function(*args, **kwargs) * scale
    return wrapped


synchronized_item_mean = functools.partial(logged(lambda gradients: item_mean(gradients)), scale=1.0)
