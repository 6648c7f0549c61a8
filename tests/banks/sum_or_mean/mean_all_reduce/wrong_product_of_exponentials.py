"""diagnosis: nan-or-inf

A product of exponentials is the exponential of the sum."""

import torch.distributed as dist


def mean_all_reduce(tensor):
    product = (tensor.double() / dist.get_world_size()).exp()
    dist.all_reduce(product, op=dist.ReduceOp.PRODUCT)
    return product.log()
