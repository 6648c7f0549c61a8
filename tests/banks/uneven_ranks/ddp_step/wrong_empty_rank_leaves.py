"""diagnosis: deadlock

A rank without items has nothing to do and returns; the others wait for its count."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    if len(inputs) == 0:
        return
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
