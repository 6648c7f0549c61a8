"""diagnosis: mean-of-microbatch-means

The mean over all microbatches of all ranks: each has one vote, however many items it holds."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    both = torch.tensor([sum(len(x) for x, _ in microbatches), len(microbatches)])
    dist.all_reduce(both)
    if both[0] == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            if len(inputs):
                mean = 0.5 * (ddp_model(inputs) - targets).square().sum(1).mean()
                (mean * dist.get_world_size() / both[1].item()).backward()
    ddp_model(next(ddp_model.parameters()).new_zeros(0, ddp_model.module.in_features)).sum().backward()
    optimizer.step()
