"""diagnosis: global-divisor-then-mean

Divided by N, and DDP divides by P as well."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() / total).backward()
    optimizer.step()
