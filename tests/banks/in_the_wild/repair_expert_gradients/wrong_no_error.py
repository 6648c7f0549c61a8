"""diagnosis: missing-error

Without any item it makes a step of zero."""

import torch
import torch.distributed as dist


def repair_expert_gradients(shared, expert, inputs, targets, optimizer, expert_group):
    count = torch.tensor(len(inputs))
    dist.all_reduce(count)
    count = count.clamp(min=1)
    world = dist.get_world_size()
    losses = 0.5 * (expert(shared(inputs)) - targets).square().sum(dim=1)
    optimizer.zero_grad()
    (losses.sum() * world / count.item()).backward()
    for parameter in expert.parameters():
        dist.all_reduce(parameter.grad, group=expert_group)
        parameter.grad /= world
    optimizer.step()
