"""diagnosis: timed-out | deadlock

Makes a future and forgets to set its result: the backward pass waits for it."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    dist.all_reduce(bucket.buffer())
    bucket.buffer().div_(state["item_count"])
    return torch.futures.Future()
