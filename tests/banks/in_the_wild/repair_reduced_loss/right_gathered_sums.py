"""Every rank gathers pairs of sum and count as objects; a Python sum does the rest."""

import torch
import torch.distributed as dist


def repair_reduced_loss(ddp_model, inputs, targets, optimizer):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(inputs))
    total = torch.tensor(sum(counts))
    if total == 0:
        raise ValueError("no rank has an item")
    local = 0.5 * (ddp_model(inputs) - targets).square().sum()
    optimizer.zero_grad()
    (local * dist.get_world_size() / total.item()).backward()
    optimizer.step()
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, local.item())
    return sum(values) / sum(counts)
