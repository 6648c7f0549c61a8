"""diagnosis: divided-by-world-size

Does what DDP's own reduction does: the mean over ranks."""

import torch.distributed as dist


def item_sum_hook(state, bucket):
    gradients = bucket.buffer().div_(dist.get_world_size())
    return dist.all_reduce(gradients, async_op=True).get_future().then(lambda done: done.value()[0])
