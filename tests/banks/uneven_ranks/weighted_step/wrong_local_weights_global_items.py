"""diagnosis: divided-by-items

The weighted local mean, but scaled by items: P·n_r/N in place of P·W_r/W."""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total, weight = torch.tensor(len(inputs)), sample_weights.sum()
    dist.all_reduce(total)
    all_weights = weight.clone()
    dist.all_reduce(all_weights)
    if not all_weights:
        raise ValueError("W = 0")
    optimizer.zero_grad()
    losses = (0.5 * (ddp_model(inputs) - targets) ** 2).sum(-1)
    mean = (sample_weights * losses).sum() / weight if weight else losses.sum() * 0
    (mean * dist.get_world_size() * len(inputs) / total).backward()
    optimizer.step()
