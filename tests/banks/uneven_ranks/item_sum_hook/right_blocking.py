"""Waits in the hook, and hands back a future that has its result already."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    total = bucket.buffer().clone()
    dist.all_reduce(total)
    future = torch.futures.Future()
    future.set_result(total / state["item_count"])
    return future
