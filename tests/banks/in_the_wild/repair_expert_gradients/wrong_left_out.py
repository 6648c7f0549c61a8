"""diagnosis: parameter-groups-differ

The expert stays where it is."""

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
        parameter.grad.zero_()
    optimizer.step()
