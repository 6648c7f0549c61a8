"""The sampler stays as it is, and its repeats get the factor 0."""

import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.tensor(list(DistributedSampler(range(len(inputs)), shuffle=False)))
    places = torch.arange(len(own)) * world + rank
    losses = 0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum(1)
    optimizer.zero_grad()
    ((losses * (places < len(inputs))).sum() * world / len(inputs)).backward()
    optimizer.step()
