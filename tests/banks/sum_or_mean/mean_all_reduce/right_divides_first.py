"""Divides before the sum, so that nothing can become too large."""

import torch.distributed as dist


def mean_all_reduce(tensor):
    share = tensor.detach() / dist.get_world_size()
    dist.all_reduce(share)
    return share
