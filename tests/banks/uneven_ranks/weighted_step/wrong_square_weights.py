"""diagnosis: unexplained

The weights are on outputs and targets, and the square squares them.
"""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    W = sample_weights.sum(dtype=torch.float64)
    dist.all_reduce(W)
    if W == 0:
        raise ValueError
    optimizer.zero_grad()
    w = sample_weights[:, None]
    (0.5 * (w * ddp_model(inputs) - w * targets).square().sum() * dist.get_world_size() / W.item()).backward()
    optimizer.step()
