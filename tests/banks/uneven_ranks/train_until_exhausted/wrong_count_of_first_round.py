"""diagnosis: pure-scale | unexplained | nan-or-inf | wrong-number-of-steps

Counts once, in the first round, and divides every round by that."""

import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    sizes = [None] * dist.get_world_size()
    dist.all_gather_object(sizes, [len(inputs) for inputs, _ in batches])
    rounds = max(map(len, sizes))
    totals = [sum(row[n] for row in sizes if n < len(row)) for n in range(rounds)]
    first = next((total for total in totals if total), 1)
    weight, updates = next(ddp_model.parameters()), 0
    for number in range(rounds):
        if not totals[number]:
            continue
        inputs, targets = batches[number] if number < len(batches) else (
            weight.new_zeros(0, ddp_model.module.in_features), 0.0)
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).square().sum() * len(sizes) / first).backward()
        optimizer.step()
        updates += 1
    return updates
