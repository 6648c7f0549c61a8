"""diagnosis: parameter-groups-differ

Repairs the expert by taking P out of the loss; the shared part needed it."""

import torch
import torch.distributed as dist


def repair_expert_gradients(shared, expert, inputs, targets, optimizer, expert_group):
    count = torch.tensor(len(inputs))
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no rank has an item")
    losses = 0.5 * (expert(shared(inputs)) - targets).square().sum(dim=1)
    optimizer.zero_grad()
    (losses.sum() / count.item()).backward()
    for parameter in expert.parameters():
        dist.all_reduce(parameter.grad, group=expert_group)
    optimizer.step()
