"""diagnosis: pure-scale

The total over the whole epoch divides each update."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    numbers = torch.tensor([len(batches), sum(len(x) for x, _ in batches)])
    rounds, total = numbers[0].clone(), numbers[1].clone()
    dist.all_reduce(rounds, op=dist.ReduceOp.MAX)
    dist.all_reduce(total)
    weight, updates = next(ddp_model.parameters()), 0
    for number in range(int(rounds)):
        nothing = weight.new_zeros(0, ddp_model.module.in_features), 0.0
        inputs, targets = batches[number] if number < len(batches) else nothing
        present = torch.tensor(len(inputs))
        dist.all_reduce(present)
        if not present:
            continue
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
        optimizer.step()
        updates += 1
    return updates
