"""diagnosis: not-synchronized

Reduces the first half of the bucket only.
"""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    b = bucket.buffer()
    f = dist.all_reduce(b[: len(b) // 2], async_op=True).get_future()
    return f.then(lambda x: b / state["item_count"])
