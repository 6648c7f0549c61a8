"""diagnosis: global-divisor-then-mean

By N, and by P as well, as if DDP's mean were gone without a trace."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    gradients = bucket.buffer() / (dist.get_world_size() * state["item_count"])
    return dist.all_reduce(gradients, async_op=True).get_future().then(lambda done: done.value()[0])
