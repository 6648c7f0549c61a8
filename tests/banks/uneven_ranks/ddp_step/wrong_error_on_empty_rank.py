"""diagnosis: unneeded-error

Refuses to be an empty rank, though others have items."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    if not len(inputs):
        raise ValueError("this rank has no items")
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
