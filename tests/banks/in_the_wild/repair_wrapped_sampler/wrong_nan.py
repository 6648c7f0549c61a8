"""diagnosis: nan-or-inf

Reduces by hand, and makes a local mean of the gradients first: 0/0 on a rank without examples."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    rank, world = dist.get_rank(), dist.get_world_size()
    own = torch.arange(len(inputs))[rank::world]
    optimizer.zero_grad()
    with ddp_model.no_sync():
        (0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum()).backward()
    for parameter in ddp_model.parameters():
        parameter.grad /= len(own)
        parameter.grad *= len(own) / len(inputs)
        dist.all_reduce(parameter.grad)
    optimizer.step()
