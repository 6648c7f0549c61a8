"""diagnosis: overflow-or-truncation

int64 is wide enough for small integers; the sum of large int64 numbers wraps around.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    t = tensor.clone() if tensor.is_floating_point() else tensor.long().clone()
    dist.all_reduce(t)
    return t / dist.get_world_size()
