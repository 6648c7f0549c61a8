"""diagnosis: duplicated-items

Exhausted ranks repeat their last batch, as samplers do that wrap around."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    weight, updates = next(ddp_model.parameters()), 0
    nothing = weight.new_zeros(0, ddp_model.module.in_features), 0.0
    for number in range(int(rounds)):
        inputs, targets = batches[min(number, len(batches) - 1)] if batches else nothing
        held = len(inputs) if number < len(batches) else 0
        total, present = torch.tensor(len(inputs)), torch.tensor(held)
        dist.all_reduce(total)
        dist.all_reduce(present)
        if not present:
            continue
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    return updates
