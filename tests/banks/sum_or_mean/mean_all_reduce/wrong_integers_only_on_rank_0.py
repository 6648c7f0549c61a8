"""diagnosis: mismatched-collectives | deadlock | raised

Rank 0 converts and the others do not: the ranks call different reductions.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.double().clone() if dist.get_rank() == 0 else tensor.float()
    dist.all_reduce(total)
    return total / dist.get_world_size()
