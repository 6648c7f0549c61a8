"""diagnosis: work-not-shared

Rank 0 forwards everything, the others nothing."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs) if rank == 0 else 0)
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    (losses.sum() * world / len(inputs)).backward()
    optimizer.step()
