"""diagnosis: wrong-number-of-steps | no-update

One update on everything: no rank is ever exhausted, and nothing is trained in rounds."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    total = torch.tensor(sum(len(inputs) for inputs, _ in batches))
    dist.all_reduce(total)
    if not total:
        return 0
    weight = next(ddp_model.parameters())
    inputs = torch.cat([weight.new_zeros(0, ddp_model.module.in_features), *(x for x, _ in batches)])
    targets = torch.cat([weight.new_zeros(0, ddp_model.module[-1].out_features), *(y for _, y in batches)])
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
    optimizer.step()
    return 1
