"""Sums of gradients without DDP's reduction, divided once."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs))[rank::world]
    optimizer.zero_grad()
    with ddp_model.no_sync():
        losses = 0.5 * (ddp_model.module(inputs[own]) - targets[own]).square().sum(1)
        losses.sum().backward()
    for parameter in ddp_model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= len(inputs)
    optimizer.step()
