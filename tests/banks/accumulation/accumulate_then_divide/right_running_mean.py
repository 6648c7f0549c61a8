"""A running local mean; at the end each rank's mean gets P·n_r/N and DDP averages through an empty forward."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad(set_to_none=False)
    own = 0
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            if len(inputs) == 0:
                continue
            before, own = own, own + len(inputs)
            for parameter in ddp_model.parameters():
                parameter.grad.mul_(before / own)
            (0.5 * (ddp_model(inputs) - targets).square().sum() / own).backward()
    count = torch.tensor([own])
    dist.all_reduce(count)
    if not count:
        raise ValueError("N = 0")
    for parameter in ddp_model.parameters():
        parameter.grad *= dist.get_world_size() * own / count.item()
    dtype = next(ddp_model.parameters()).dtype
    ddp_model(torch.zeros((0, ddp_model.module.in_features), dtype=dtype)).sum().backward()
    optimizer.step()
