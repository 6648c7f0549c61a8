"""diagnosis: bucket-dependent

"Divide when the last bucket comes": by then the others are gone."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    divisor = state["item_count"] if bucket.is_last() else 1
    return future.then(lambda done: done.value()[0] / divisor)
