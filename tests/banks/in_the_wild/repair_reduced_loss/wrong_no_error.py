"""diagnosis: missing-error

Without any item it makes a step of zero and reports 0."""

import torch
import torch.distributed as dist


def repair_reduced_loss(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    total = total.clamp(min=1)
    local = 0.5 * (ddp_model(inputs) - targets).square().sum()
    optimizer.zero_grad()
    (local * dist.get_world_size() / total.item()).backward()
    optimizer.step()
    value = local.detach().clone()
    dist.all_reduce(value)
    return value.item() / total.item()
