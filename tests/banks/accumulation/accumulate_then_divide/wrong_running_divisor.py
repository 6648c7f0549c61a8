"""diagnosis: unexplained | never-divided | parameter-groups-differ | mean-of-rank-means | sum-of-rank-means

Divides each loss by the items so far: early microbatches weigh more than late ones."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    own = 0
    count = torch.tensor(0)
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            own += len(inputs)
            (0.5 * (ddp_model(inputs) - targets).square().sum() / max(1, own)).backward()
            count += len(inputs)
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    for parameter in ddp_model.parameters():
        parameter.grad *= 1.0
    optimizer.step()
