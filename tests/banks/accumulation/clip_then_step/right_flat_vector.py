"""One vector by hand: reduce, divide, shorten, put back."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    parameters = list(ddp_model.module.parameters())
    flat = torch.zeros(1 + sum(p.numel() for p in parameters), dtype=parameters[0].dtype)
    for inputs, targets in microbatches:
        loss = 0.5 * (ddp_model.module(inputs) - targets).square().sum()
        flat[1:] += torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)])
        flat[0] += len(inputs)
    dist.all_reduce(flat)
    if not flat[0]:
        raise ValueError("nobody has an item")
    mean = flat[1:] / flat[0]
    norm = torch.linalg.vector_norm(mean)
    mean *= min(1.0, max_norm / norm.item())
    start = 0
    for parameter in parameters:
        parameter.grad = mean[start : start + parameter.numel()].view_as(parameter).clone()
        start += parameter.numel()
    optimizer.step()
    return float(norm)
