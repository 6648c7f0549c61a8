"""diagnosis: extra-synchronization | deadlock | mismatched-collectives

The forward stands outside no_sync, and it is the forward that decides whether DDP reduces."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        loss = 0.5 * (ddp_model(inputs) - targets).square().sum() * (dist.get_world_size() / count.item())
        with ddp_model.no_sync():
            loss.backward()
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    optimizer.step()
