"""diagnosis: mean-of-microbatch-means

Mean losses, divided by the rank's own K before the reduction: without N nothing else seems possible."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    k = 0
    count = torch.tensor(0)
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            (0.5 * (ddp_model(inputs) - targets).square().sum() / max(1, len(inputs))).backward()
            count += len(inputs)
            k += 1
    for parameter in ddp_model.parameters():
        if k:
            parameter.grad /= k
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    for parameter in ddp_model.parameters():
        parameter.grad *= 1.0
    optimizer.step()
