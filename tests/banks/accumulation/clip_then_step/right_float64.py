"""The vector in float64 by autograd.grad, its norm by hypot, the shortened one in .grad."""

import math

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    parameters = list(ddp_model.module.parameters())
    packed = torch.zeros(1 + sum(p.numel() for p in parameters), dtype=torch.float64)
    for inputs, targets in microbatches:
        loss = (0.5 * (ddp_model.module(inputs) - targets) ** 2).sum()
        packed[1:] += torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)]).double()
        packed[0] += len(inputs)
    dist.all_reduce(packed)
    if not packed[0]:
        raise ValueError("no item")
    mean = packed[1:] / packed[0]
    norm = math.hypot(*mean.tolist())
    parts = (mean * min(1.0, max_norm / norm)).split([p.numel() for p in parameters])
    for p, part in zip(parameters, parts, strict=True):
        p.grad = part.view_as(p).to(p.dtype)
    optimizer.step()
    return norm
