"""diagnosis: duplicated-items

A rank that has no batch left starts again with its first, as itertools.cycle does."""

import itertools

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    weight, updates = next(ddp_model.parameters()), 0
    nothing = weight.new_zeros(0, ddp_model.module.in_features), 0.0
    endless = itertools.cycle(batches or [nothing])
    for inputs, targets in itertools.islice(endless, int(rounds)):
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if total == 0:
            continue
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    return updates
