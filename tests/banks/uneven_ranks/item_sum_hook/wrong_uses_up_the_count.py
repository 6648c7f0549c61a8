"""diagnosis: bucket-dependent | raised

Takes the count out of the state: the second bucket does not find it and divides by 1."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    count = state.pop("item_count", 1)
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / count)
