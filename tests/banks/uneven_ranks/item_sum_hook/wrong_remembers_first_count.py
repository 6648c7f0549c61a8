"""diagnosis: pure-scale | unexplained

Keeps the count of the first window: windows differ."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    count = state.setdefault("first_count", state["item_count"])
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / count)
