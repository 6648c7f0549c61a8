"""diagnosis: not-synchronized

No reduction at all."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs))[rank::world]
    with ddp_model.no_sync():
        losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    (losses.sum() * world / len(inputs)).backward()
    optimizer.step()
