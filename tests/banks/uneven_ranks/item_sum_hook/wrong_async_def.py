"""diagnosis: wrong-type

A coroutine is no future.
"""

import torch.distributed as dist


async def item_sum_hook(state, bucket):
    f = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return f.then(lambda x: x.value()[0] / state["item_count"])
