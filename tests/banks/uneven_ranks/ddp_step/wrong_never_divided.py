"""diagnosis: never-divided

A sum on every rank, times P: the gradient of the total loss."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    (dist.get_world_size() * 0.5 * ((ddp_model(inputs) - targets) ** 2).sum()).backward()
    optimizer.step()
