"""diagnosis: pure-scale

The counter lives on the model and is never set back: the second window is divided by the items of both."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    ddp_model.seen = getattr(ddp_model, "seen", 0)
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
            ddp_model.seen += len(inputs)
    total = torch.tensor(ddp_model.seen)
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    ddp_model(next(ddp_model.parameters()).new_zeros(0, ddp_model.module.in_features)).sum().backward()
    for p in ddp_model.parameters():
        p.grad *= dist.get_world_size() / total.item()
    optimizer.step()
