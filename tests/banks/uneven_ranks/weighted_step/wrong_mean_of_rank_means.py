"""diagnosis: mean-of-rank-means

The weighted mean of every rank, averaged; a rank without weight adds a zero."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total, mine = sample_weights.sum(), sample_weights.sum()
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    loss = (sample_weights * losses).sum()
    (loss / mine if mine > 0 else loss).backward()
    optimizer.step()
