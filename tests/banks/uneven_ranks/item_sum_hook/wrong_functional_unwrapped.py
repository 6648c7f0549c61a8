"""diagnosis: wrong-type

A tensor that waits by itself is no future."""

import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def item_sum_hook(state, bucket):
    return functional.all_reduce(bucket.buffer(), "sum", dist.group.WORLD) / state["item_count"]
