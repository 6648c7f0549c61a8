"""diagnosis: deadlock

A plain loop over the own batches: who has none left returns, and the others wait for its count."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    updates = 0
    for inputs, targets in batches:
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if not total:
            continue
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    return updates
