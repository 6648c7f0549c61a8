"""diagnosis: not-synchronized

no_sync, and then nobody synchronizes."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    with ddp_model.no_sync():
        (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
