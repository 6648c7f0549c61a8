"""diagnosis: nan-or-inf | mean-of-rank-means

The weighted mean of every rank without a guard: all weights 0 make 0/0, and one NaN reaches every rank."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total, mine = sample_weights.sum(), sample_weights.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    mean = (sample_weights * losses).sum() / mine
    (mean * dist.get_world_size() * mine / total).backward()
    optimizer.step()
