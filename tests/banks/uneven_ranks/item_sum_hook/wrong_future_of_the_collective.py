"""diagnosis: wrong-type

The future of an all_reduce holds a list of tensors."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    bucket.buffer().div_(state["item_count"])
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future()
