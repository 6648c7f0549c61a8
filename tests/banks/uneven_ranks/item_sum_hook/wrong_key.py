"""diagnosis: raised

Asks the state for a key that it does not have, in the callback.
"""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    f = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return f.then(lambda x: x.value()[0] / state["count"])
