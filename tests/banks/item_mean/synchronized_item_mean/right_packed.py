"""One message: the count travels as an extra element of the sum."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    ones = torch.ones(len(local_gradients), 1, dtype=local_gradients.dtype)
    packed = torch.cat([local_gradients, ones], dim=1).sum(0)
    dist.all_reduce(packed, op=dist.ReduceOp.SUM)
    return packed[:-1] / packed[-1]
