"""The expert's gradients cross the ranks in one tensor."""

import torch
import torch.distributed as dist


def repair_expert_gradients(shared, expert, inputs, targets, optimizer, expert_group):
    count = torch.tensor(len(inputs))
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no rank has an item")
    world = dist.get_world_size()
    losses = 0.5 * (expert(shared(inputs)) - targets).square().sum(dim=1)
    optimizer.zero_grad()
    (losses.sum() * world / count.item()).backward()
    parameters = list(expert.parameters())
    flat = torch.cat([p.grad.flatten() for p in parameters])
    dist.all_reduce(flat, group=expert_group)
    for parameter, own in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = own.view_as(parameter) / world
    optimizer.step()
