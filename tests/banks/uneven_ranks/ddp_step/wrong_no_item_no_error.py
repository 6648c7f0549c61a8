"""diagnosis: missing-error

A window without items is passed over in silence."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total == 0:
        return
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
