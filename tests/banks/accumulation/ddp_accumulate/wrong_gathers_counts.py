"""diagnosis: extra-synchronization

A gather of a hundred numbers of every rank, where one sum of counts is needed."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    counts = torch.zeros(100, dtype=torch.int64)
    for k, (inputs, _) in enumerate(microbatches):
        counts[k] = len(inputs)
    dist.all_reduce(counts)
    count = counts.sum()
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            (0.5 * (ddp_model(inputs) - targets).square().sum() * (dist.get_world_size() / count.item())).backward()
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    optimizer.step()
