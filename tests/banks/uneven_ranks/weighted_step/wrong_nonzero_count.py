"""diagnosis: pure-scale

Divides by the number of items that have a weight.
"""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    W = (sample_weights > 0).sum()
    dist.all_reduce(W)
    if W == 0:
        raise ValueError
    optimizer.zero_grad()
    (
        0.5 * ((ddp_model(inputs) - targets).square().sum(1) * sample_weights).sum() * dist.get_world_size() / W.item()
    ).backward()
    optimizer.step()
