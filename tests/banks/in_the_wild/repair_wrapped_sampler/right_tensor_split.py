"""Pieces whose lengths differ by one."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.tensor_split(torch.arange(len(inputs)), world)[rank]
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    (losses.sum() * world / len(inputs)).backward()
    optimizer.step()
