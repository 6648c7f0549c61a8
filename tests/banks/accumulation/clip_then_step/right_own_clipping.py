"""Sums first, then the division, then a norm of its own."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    count = torch.zeros((), dtype=torch.long)
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            count += len(inputs)
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
    dist.all_reduce(count)
    if not count:
        raise ValueError("N = 0")
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    gradients = [p.grad for p in ddp_model.parameters()]
    for gradient in gradients:
        gradient *= dist.get_world_size() / count.item()
    norm = sum(float(g.double().square().sum()) for g in gradients) ** 0.5
    if norm > max_norm:
        for gradient in gradients:
            gradient *= max_norm / norm
    optimizer.step()
    return norm
