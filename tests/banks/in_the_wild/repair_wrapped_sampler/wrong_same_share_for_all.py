"""diagnosis: rank-lost

Every rank takes the first share: the examples of the others never arrive."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = 0, dist.get_world_size()
    own = torch.arange(len(inputs))[rank::world]
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    losses.mean().backward()
    optimizer.step()
