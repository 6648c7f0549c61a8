"""Σ w ℓ over W/P: DDP's mean makes a sum over W of it."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total)
    if not total > 0:
        raise ValueError("the sample weights of all ranks sum to 0")
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(dim=1)
    optimizer.zero_grad()
    ((sample_weights * losses).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
