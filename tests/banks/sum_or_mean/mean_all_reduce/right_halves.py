"""Integers in two halves of 32 bits, neither of which can overflow."""

import torch.distributed as dist


def mean_all_reduce(tensor):
    size = dist.get_world_size()
    if tensor.is_floating_point():
        t = tensor.clone()
        dist.all_reduce(t)
        return t / size
    t = tensor.long()
    high, low = t >> 32, t & 0xFFFFFFFF
    dist.all_reduce(high), dist.all_reduce(low)
    return (high.double() * 2**32 + low.double()) / size
