"""diagnosis: parameter-groups-differ

Reduces the expert's gradients over all ranks: those of other experts get in."""

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
    for parameter in expert.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world
    optimizer.step()
