"""diagnosis: held-graphs

One backward for the sum of all losses: one synchronization without no_sync, and all graphs in memory."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    weight = next(ddp_model.parameters())
    total = ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum()
    for inputs, targets in microbatches:
        total = total + 0.5 * (ddp_model.module(inputs) - targets).square().sum()
    (total * (dist.get_world_size() / count.item())).backward()
    optimizer.step()
