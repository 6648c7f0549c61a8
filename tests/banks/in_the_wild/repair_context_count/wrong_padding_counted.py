"""diagnosis: padding-counted

The sum is over valid tokens, the divisor is over all places."""

import torch
import torch.distributed as dist


def repair_context_count(ddp_model, inputs, targets, valid, optimizer, data_group):
    count = valid.sum()
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no token of any rank is valid")
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(dim=-1)
    optimizer.zero_grad()
    places = torch.tensor(valid.numel())
    dist.all_reduce(places)
    ((losses * valid).sum() * dist.get_world_size() / places.item()).backward()
    optimizer.step()
