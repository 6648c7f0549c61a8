"""diagnosis: forbidden-operation

The collective that was to be built.
"""

import torch.distributed as dist


def ring_all_reduce(tensor):
    total = tensor.clone()
    dist.all_reduce(total)
    return total
