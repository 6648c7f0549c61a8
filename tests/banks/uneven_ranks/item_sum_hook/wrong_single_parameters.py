"""diagnosis: mismatched-collectives | deadlock

Rank 0 sends the bucket in one piece, the others parameter by parameter."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    if dist.get_rank() == 0:
        dist.all_reduce(bucket.buffer())
    else:
        for gradient in bucket.gradients():
            dist.all_reduce(gradient)
    future = torch.futures.Future()
    future.set_result(bucket.buffer() / state["item_count"])
    return future
