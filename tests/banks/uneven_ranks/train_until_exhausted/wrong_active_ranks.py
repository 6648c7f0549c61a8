"""diagnosis: active-ranks

The mean of the means of the ranks that have a batch, as if the others had left."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    weight, updates = next(ddp_model.parameters()), 0
    for number in range(int(rounds)):
        inputs, targets = batches[number] if number < len(batches) else (
            weight.new_zeros(0, ddp_model.module.in_features), 0.0)
        active = torch.tensor(int(len(inputs) > 0))
        dist.all_reduce(active)
        if not active:
            continue
        optimizer.zero_grad()
        loss = 0.5 * (ddp_model(inputs) - targets).square().sum() / max(1, len(inputs))
        (loss * dist.get_world_size() / active).backward()
        optimizer.step()
        updates += 1
    return updates
