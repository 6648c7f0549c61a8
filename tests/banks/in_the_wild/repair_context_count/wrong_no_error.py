"""diagnosis: missing-error

Without any valid token it makes a step of zero."""

import torch.distributed as dist


def repair_context_count(ddp_model, inputs, targets, valid, optimizer, data_group):
    count = valid.sum()
    dist.all_reduce(count)
    count = count.clamp(min=1)
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(dim=-1)
    optimizer.zero_grad()
    ((losses * valid).sum() * dist.get_world_size() / count.item()).backward()
    optimizer.step()
