"""diagnosis: held-graphs

Adds up losses until the count is known, and calls backward once."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    weight = next(ddp_model.parameters())
    total = ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum()
    count = torch.tensor(0)
    for inputs, targets in microbatches:
        total = total + 0.5 * (ddp_model.module(inputs) - targets).square().sum()
        count += len(inputs)
        del inputs, targets
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    (total * (dist.get_world_size() / count.item())).backward()
    optimizer.step()
