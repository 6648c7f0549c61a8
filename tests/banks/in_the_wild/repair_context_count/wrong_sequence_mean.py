"""diagnosis: sequence-mean

A mean of each sequence's part, and a mean of these over all parts that have tokens."""

import torch.distributed as dist


def repair_context_count(ddp_model, inputs, targets, valid, optimizer, data_group):
    count = valid.sum()
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no token of any rank is valid")
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(dim=-1)
    optimizer.zero_grad()
    lengths = valid.sum(1)
    parts = (lengths > 0).sum()
    dist.all_reduce(parts)
    means = (losses * valid).sum(1) / lengths.clamp(min=1)
    (means.sum() * dist.get_world_size() / parts.item()).backward()
    optimizer.step()
