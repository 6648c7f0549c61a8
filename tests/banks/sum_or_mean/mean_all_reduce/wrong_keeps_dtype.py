"""diagnosis: wrong-type

The mean goes back to the dtype of the argument: for integers it is truncated and no floating tensor.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    mean = tensor.double() / dist.get_world_size()
    dist.all_reduce(mean)
    return mean.to(tensor.dtype)
