"""diagnosis: stale-gradients | window-boundaries

Clears the gradients once, before the first round: each update holds those of all rounds before."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    weight, updates = next(ddp_model.parameters()), 0
    optimizer.zero_grad()
    for number in range(int(rounds)):
        inputs, targets = batches[number] if number < len(batches) else (
            weight.new_zeros(0, ddp_model.module.in_features), 0.0)
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if not total:
            continue
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    return updates
