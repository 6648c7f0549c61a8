"""diagnosis: wrong-type

Half precision halves the traffic, and three digits are all that is left.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    share = (tensor.double() / dist.get_world_size()).half()
    dist.all_reduce(share)
    return share
