"""diagnosis: wrong-type

A tensor instead of a future."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    gradients = bucket.buffer()
    dist.all_reduce(gradients)
    return gradients / state["item_count"]
