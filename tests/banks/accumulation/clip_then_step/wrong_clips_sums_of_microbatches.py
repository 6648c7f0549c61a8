"""diagnosis: clipped-before-normalizing

Clips each microbatch's sum by itself, adds, divides by N."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    parameters = list(ddp_model.module.parameters())
    flat = torch.zeros(sum(p.numel() for p in parameters), dtype=parameters[0].dtype)
    for inputs, targets in microbatches:
        loss = 0.5 * (ddp_model.module(inputs) - targets).square().sum()
        part = torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)])
        flat += part * min(1.0, max_norm / max(part.norm().item(), 1e-12))
    dist.all_reduce(flat)
    flat /= count.item()
    torch.nn.utils.vector_to_parameters(flat, grads := [torch.empty_like(p) for p in parameters])
    for parameter, gradient in zip(parameters, grads, strict=True):
        parameter.grad = gradient
    optimizer.step()
    return flat.norm().item()
