"""diagnosis: unexplained | wrong-type | pure-scale

Compresses to bfloat16 on the way: three digits are left."""

import torch
import torch.distributed as dist


def item_sum_hook(state, bucket):
    small = bucket.buffer().to(torch.bfloat16)
    dist.all_reduce(small)
    future = torch.futures.Future()
    future.set_result(small.to(bucket.buffer().dtype) / state["item_count"])
    return future
