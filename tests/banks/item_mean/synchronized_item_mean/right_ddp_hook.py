"""DistributedDataParallel with a hook that sums and divides by N."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def divide_by_count(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / state["count"])


def synchronized_item_mean(local_gradients):
    count = torch.tensor(float(len(local_gradients)))
    dist.all_reduce(count)
    total = local_gradients.detach().sum(0)
    layer = torch.nn.Linear(len(total), 1, bias=False, dtype=total.dtype)
    model = DistributedDataParallel(layer)
    model.register_comm_hook({"count": count}, divide_by_count)
    model(total).sum().backward()
    return layer.weight.grad[0]
