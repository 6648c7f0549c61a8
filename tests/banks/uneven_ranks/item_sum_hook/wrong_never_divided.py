"""diagnosis: never-divided

The sum alone: with a hook, DDP divides by nothing."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])
