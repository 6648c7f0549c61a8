"""Copies share the weight of one: each rank knows what the others were dealt."""

import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    samplers = [DistributedSampler(range(len(inputs)), world, r, shuffle=False) for r in range(world)]
    own = torch.tensor(list(samplers[rank]))
    copies = torch.tensor([i for sampler in samplers for i in sampler]).bincount(minlength=len(inputs))
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    ((losses / copies[own]).sum() * world / len(inputs)).backward()
    optimizer.step()
