"""diagnosis: stale-gradients

Never clears."""

import torch
import torch.distributed as dist


def repair_reduced_loss(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has an item")
    local = 0.5 * (ddp_model(inputs) - targets).square().sum()
    (local * dist.get_world_size() / total.item()).backward()
    optimizer.step()
    value = local.detach().clone()
    dist.all_reduce(value)
    return value.item() / total.item()
