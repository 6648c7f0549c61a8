"""diagnosis: wrong-type

Works in place and returns nothing."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    dist.all_reduce(bucket.buffer())
    bucket.buffer().div_(state["item_count"])
