"""The lesson's way: P·n_r/N on the local mean, a zero-row sum on an empty rank."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has an item")
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(dim=1)
    mean = losses.mean() if len(inputs) else losses.sum()
    optimizer.zero_grad()
    (mean * dist.get_world_size() * len(inputs) / total).backward()
    optimizer.step()
