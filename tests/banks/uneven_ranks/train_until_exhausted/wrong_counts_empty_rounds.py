"""diagnosis: wrong-return-value

Makes no update in a round without items, and counts it all the same."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    rounds = torch.tensor(len(batches))
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    weight = next(ddp_model.parameters())
    for number in range(int(rounds)):
        inputs, targets = batches[number] if number < len(batches) else (
            weight.new_zeros(0, ddp_model.module.in_features), 0.0)
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if total:
            optimizer.zero_grad()
            (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
            optimizer.step()
    return int(rounds)
