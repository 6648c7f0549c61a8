"""diagnosis: overflow-or-truncation

The division converts, but the sum has wrapped around by then.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.clone()
    dist.all_reduce(total)
    return total / dist.get_world_size()
