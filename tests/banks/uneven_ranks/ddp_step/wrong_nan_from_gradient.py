"""diagnosis: nan-or-inf

Divides the gradient by the local count and weighs it again: 0/0 on an empty rank, and the sum carries it to all."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(float(len(inputs)), dtype=inputs.dtype)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    mine = torch.tensor(float(len(inputs)), dtype=inputs.dtype)
    optimizer.zero_grad()
    with ddp_model.no_sync():
        (0.5 * ((ddp_model(inputs) - targets) ** 2).sum()).backward()
    for parameter in ddp_model.parameters():
        parameter.grad = parameter.grad / mine * (mine / total)
        dist.all_reduce(parameter.grad)
    optimizer.step()
