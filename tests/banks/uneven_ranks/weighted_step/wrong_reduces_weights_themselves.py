"""diagnosis: mismatched-collectives | rank-crashed

All-reduces the weights instead of their sum: as many elements as this rank has items."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    weights = sample_weights.clone()
    dist.all_reduce(weights)
    if not weights.sum():
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size() / weights.sum()).backward()
    optimizer.step()
