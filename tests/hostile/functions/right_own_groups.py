"""outcome: right

Makes groups of its own, sets timeouts, averages after dividing beforehand.
"""
from datetime import timedelta

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    group = dist.new_group(list(range(dist.get_world_size())), timeout=timedelta(seconds=60))
    packed = torch.cat([local_gradients.double().sum(0), torch.tensor([float(len(local_gradients))]).double()])
    packed /= dist.get_world_size()
    dist.all_reduce(packed, group=group)
    dist.barrier(group)
    dist.destroy_process_group(group)
    return (packed[:-1] / packed[-1]).to(local_gradients.dtype)
