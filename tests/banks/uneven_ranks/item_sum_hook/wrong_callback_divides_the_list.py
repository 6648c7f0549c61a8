"""diagnosis: raised

The value of an all_reduce's future is a list, and a list cannot be divided."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value() / state["item_count"])
