"""diagnosis: parameter-groups-differ

Wraps the expert in DDP over its group: that divides by the group's size."""

import torch
import torch.distributed as dist


def repair_expert_gradients(shared, expert, inputs, targets, optimizer, expert_group):
    count = torch.tensor(len(inputs))
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no rank has an item")
    world = dist.get_world_size()
    wrapped = torch.nn.parallel.DistributedDataParallel(expert, process_group=expert_group)
    losses = 0.5 * (wrapped(shared(inputs)) - targets).square().sum(dim=1)
    optimizer.zero_grad()
    (losses.sum() * world / count.item()).backward()
    optimizer.step()
