"""diagnosis: pure-scale | sum-of-rank-means

Reduces in place and once more: every gradient is counted P times."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    dist.all_reduce(bucket.buffer())
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / state["item_count"])
