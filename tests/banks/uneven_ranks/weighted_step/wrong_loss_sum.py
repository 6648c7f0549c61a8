"""diagnosis: divided-by-world-size

Σ w ℓ per rank: only DDP divides, by P."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    (sample_weights * losses).sum().backward()
    optimizer.step()
