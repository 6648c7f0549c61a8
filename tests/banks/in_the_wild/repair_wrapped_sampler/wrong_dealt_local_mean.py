"""diagnosis: mean-of-rank-means

No repeats, but a mean over shares that differ by one."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs))[rank::world]
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    (losses.sum() / max(len(own), 1)).backward()
    optimizer.step()
