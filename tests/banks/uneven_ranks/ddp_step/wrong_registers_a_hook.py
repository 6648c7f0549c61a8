"""diagnosis: raised

Registers a communication hook in every call: DDP takes one."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")

    def hook(state, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda f: f.value()[0] / total)

    ddp_model.register_comm_hook(None, hook)
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs) - targets) ** 2).sum().backward()
    optimizer.step()
