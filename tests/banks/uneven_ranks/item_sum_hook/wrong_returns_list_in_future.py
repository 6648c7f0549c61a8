"""diagnosis: raised | wrong-type

The future of the all_reduce holds a list; the division is forgotten as well."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    dist.all_reduce(bucket.buffer())
    future = torch.futures.Future()
    future.set_result([gradient / state["item_count"] for gradient in bucket.gradients()])
    return future
