"""The longest list first, then one count per round; exhausted ranks take part with no rows."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    parameter = next(ddp_model.parameters())
    updates = 0
    for number in range(int(rounds)):
        if number < len(batches):
            inputs, targets = batches[number]
        else:
            inputs, targets = parameter.new_zeros(0, ddp_model.module.in_features), 0.0
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if not total:
            continue
        optimizer.zero_grad()
        loss = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum()
        (loss * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    return updates
