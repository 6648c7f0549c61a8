"""diagnosis: local-window-count | mean-of-rank-means

Divides the local sums by the own count before the reduction: a mean of rank means."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    own = 0
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
            own += len(inputs)
    count = torch.tensor(own)
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    for parameter in ddp_model.parameters():
        if own:
            parameter.grad /= own
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    optimizer.step()
