"""diagnosis: pure-scale

The square without its ½: twice the step."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    (((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
