"""diagnosis: divided-by-items

(w·ℓ).mean() on every rank: the local number of items as divisor, and the mean over ranks."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    (sample_weights * losses).mean().backward()
    optimizer.step()
