"""diagnosis: pure-scale | sum-of-rank-means

P/N, right after DDP's mean. Nobody averages here."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    gradients = bucket.buffer() * (dist.get_world_size() / state["item_count"])
    return dist.all_reduce(gradients, async_op=True).get_future().then(lambda done: done.value()[0])
