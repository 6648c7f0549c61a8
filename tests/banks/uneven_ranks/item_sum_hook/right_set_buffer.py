"""Puts the divided gradients into the bucket, then reduces the bucket."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    bucket.set_buffer(bucket.buffer() / state["item_count"])
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda f: bucket.buffer())
