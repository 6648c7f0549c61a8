"""diagnosis: nan-or-inf | missing-error | raised | wrong-exception

Divides by the count without looking at it."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    count = torch.tensor(0)
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
            count += len(inputs)
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    dist.all_reduce(count)
    for parameter in ddp_model.parameters():
        parameter.grad *= dist.get_world_size() / count.item()
    optimizer.step()
