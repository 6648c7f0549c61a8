"""diagnosis: deadlock

A rank whose weights sum to 0 says so and leaves before the gradients."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError
    if not sample_weights.sum():
        return
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
