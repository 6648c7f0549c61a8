"""A second DDP around the same module, with a hook that sums and divides by N."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError

    def hook(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        fut = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
        return fut.then(lambda f: f.value()[0] / n.item())

    fresh = DDP(ddp_model.module)
    fresh.register_comm_hook(None, hook)
    optimizer.zero_grad()
    (0.5 * (fresh(inputs) - targets) ** 2).sum().backward()
    optimizer.step()
