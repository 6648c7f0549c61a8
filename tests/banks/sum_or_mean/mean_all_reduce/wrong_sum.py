"""diagnosis: never-divided

The sum, without the division: "all_reduce makes it global".
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    total = tensor.double()
    total = total.clone()
    dist.all_reduce(total)
    return total
