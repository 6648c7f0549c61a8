"""diagnosis: bucket-dependent

Divides once a backward pass, in the first bucket: the hook runs once per bucket, and the others keep their sums."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    divisor = state["item_count"] if bucket.index() == 0 else 1
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / divisor)
