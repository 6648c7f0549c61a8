"""diagnosis: clamped-count

max(1, W) against division by zero: too large a divisor whenever the weights sum to less than 1."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size() / total.clamp(min=1)).backward()
    optimizer.step()
