"""diagnosis: raised

A Python division by the rank's own count, which may be 0."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs))[rank::world]
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    (losses.sum() * (len(own) / len(inputs) * world / len(own))).backward()
    optimizer.step()
