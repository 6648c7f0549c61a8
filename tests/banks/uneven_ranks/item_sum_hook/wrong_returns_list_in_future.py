"""diagnosis: wrong-type

The future holds a list, one gradient per parameter."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    dist.all_reduce(bucket.buffer())
    future = torch.futures.Future()
    future.set_result([gradient / state["item_count"] for gradient in bucket.gradients()])
    return future
