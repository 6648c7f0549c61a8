"""diagnosis: pure-scale

The count is asked for once and kept with the model."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    if not hasattr(ddp_model, "total"):
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if total == 0:
            raise ValueError("no item")
        ddp_model.total = total
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs) - targets) ** 2).sum().mul(dist.get_world_size() / ddp_model.total).backward()
    optimizer.step()
