"""diagnosis: wrong-answer | overflow-or-truncation

The mean of integers is rounded to an integer.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    t = tensor.double().clone()
    dist.all_reduce(t)
    t = t / dist.get_world_size()
    return t if tensor.is_floating_point() else t.round()
