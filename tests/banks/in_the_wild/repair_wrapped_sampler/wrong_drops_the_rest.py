"""diagnosis: gradients-lost

Leaves out what does not go into equal parts: those examples weigh nothing."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs) // world * world)[rank::world]
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    (losses.sum() * world / max(1, len(inputs) // world * world)).backward()
    optimizer.step()
