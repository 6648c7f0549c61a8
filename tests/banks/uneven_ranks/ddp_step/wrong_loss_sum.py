"""diagnosis: divided-by-world-size

Local sums: only DDP divides, by P."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets) ** 2).sum()).backward()
    optimizer.step()
