"""diagnosis: divided-by-items

Weights are brought to a mean of 1 on each rank, then it is an item mean.
"""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    W = sample_weights.sum()
    n = torch.tensor(len(inputs))
    T = W.clone()
    dist.all_reduce(T)
    dist.all_reduce(n)
    if T == 0:
        raise ValueError
    w = sample_weights / (sample_weights.mean() if W > 0 else 1)
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets).square().sum(1) * w).sum() * dist.get_world_size() / n.item()).backward()
    optimizer.step()
