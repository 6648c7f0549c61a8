"""diagnosis: never-divided

Σ w ℓ over all ranks, and no divisor."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size()).backward()
    optimizer.step()
