"""diagnosis: deadlock | mismatched-collectives | extra-synchronization

Asks all ranks for the count of each microbatch, though their numbers differ."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    total = 0
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            count = torch.tensor(len(inputs))
            dist.all_reduce(count)
            total += count.item()
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
    if total == 0:
        raise ValueError("no item in the window")
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    for parameter in ddp_model.parameters():
        parameter.grad *= dist.get_world_size() / total
    optimizer.step()
