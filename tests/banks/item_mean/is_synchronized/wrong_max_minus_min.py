"""diagnosis: wrong-answer | nan-or-inf

inf − inf is NaN, and NaN is not 0."""

import torch.distributed as dist


def is_synchronized(tensor):
    low, high = tensor.clone(), tensor.clone()
    dist.all_reduce(low, op=dist.ReduceOp.MIN)
    dist.all_reduce(high, op=dist.ReduceOp.MAX)
    return bool(((high - low) == 0).all())
