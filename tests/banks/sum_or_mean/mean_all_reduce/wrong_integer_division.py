"""diagnosis: overflow-or-truncation

Divides integers by // so that they cannot overflow, and loses the fractions.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    share = tensor / dist.get_world_size() if tensor.is_floating_point() else tensor // dist.get_world_size()
    share = share.double()
    dist.all_reduce(share)
    return share
