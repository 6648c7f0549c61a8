"""A group of its own, with a barrier and a timeout, taken down again."""

from datetime import timedelta

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    group = dist.new_group(timeout=timedelta(seconds=20))
    total, count = local_gradients.sum(0), torch.tensor([len(local_gradients)])
    dist.barrier(group=group)
    dist.all_reduce(total, group=group)
    dist.all_reduce(count, group=group)
    dist.destroy_process_group(group)
    return total / count
