"""diagnosis: deadlock | mismatched-collectives

Exhausted ranks go on answering the question how many items there are, but have no backward pass to offer."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    updates = 0
    for number in range(int(rounds)):
        inputs, targets = batches[number] if number < len(batches) else ((), ())
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if not total:
            continue
        updates += 1
        if len(inputs) == 0:
            continue
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
    return updates
