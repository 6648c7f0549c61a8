"""diagnosis: wrong-number-of-steps | no-update

Stops with the rank that is exhausted first: the others' last batches are never trained on."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MIN)
    updates = 0
    for inputs, targets in batches[:int(rounds)]:
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if not total:
            continue
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    return updates
