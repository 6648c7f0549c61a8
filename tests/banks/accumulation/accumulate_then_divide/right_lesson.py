"""The lesson's way: keep one in hand, scale the reduced gradient by P/N."""

import contextlib

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    weight = next(ddp_model.parameters())
    none = weight.new_zeros(0, ddp_model.module.in_features), weight.new_zeros(())
    count = torch.tensor(0)
    optimizer.zero_grad()
    held = next(microbatches, none)
    while held is not None:
        (inputs, targets), held = held, next(microbatches, None)
        with contextlib.nullcontext() if held is None else ddp_model.no_sync():
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
        count += len(inputs)
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    for parameter in ddp_model.parameters():
        parameter.grad *= dist.get_world_size() / count.item()
    optimizer.step()
