"""diagnosis: global-divisor-then-mean

Divided by N, and DDP averages over the ranks on top."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
            (loss * (1 / count.item())).backward()
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    optimizer.step()
