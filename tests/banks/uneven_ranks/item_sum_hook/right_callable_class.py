"""An object with __call__, which reduces to rank 0 and broadcasts."""

import torch
import torch.distributed as dist


class Hook:
    def __call__(self, state, bucket):
        gradients = bucket.buffer()
        dist.reduce(gradients, dst=0)
        gradients.div_(state["item_count"])
        dist.broadcast(gradients, src=0)
        future = torch.futures.Future()
        future.set_result(gradients)
        return future


item_sum_hook = Hook()
