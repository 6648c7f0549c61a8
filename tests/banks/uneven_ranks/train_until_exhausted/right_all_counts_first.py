"""All ranks tell all their counts once; no count is sent inside the loop."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    tables = [None] * dist.get_world_size()
    dist.all_gather_object(tables, [len(inputs) for inputs, _ in batches])
    rounds = max(map(len, tables))
    totals = [sum(row[n] for row in tables if n < len(row)) for n in range(rounds)]
    dtype = next(ddp_model.parameters()).dtype
    for number, total in enumerate(totals):
        if total == 0:
            continue
        inputs = torch.zeros(0, ddp_model.module.in_features, dtype=dtype)
        targets = torch.zeros(0, 1, dtype=dtype)
        if number < len(batches):
            inputs, targets = batches[number]
        optimizer.zero_grad()
        (0.5 * (ddp_model(inputs) - targets).pow(2).sum() / total * len(tables)).backward()
        optimizer.step()
    return sum(total > 0 for total in totals)
