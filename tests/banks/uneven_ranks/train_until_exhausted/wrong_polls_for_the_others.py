"""diagnosis: timed-out | deadlock

An exhausted rank neither leaves nor takes part: it polls for a sign of the others, who wait for it."""

import time

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds, updates = torch.tensor(len(batches)), 0
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    for inputs, targets in batches:
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    while updates < int(rounds):
        time.sleep(0.01)
    return updates
