"""diagnosis: forbidden-operation

ReduceOp.AVG on a converted tensor: right in value, but not the exercise, and not on every backend.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    mean = tensor.double().clone()
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean
