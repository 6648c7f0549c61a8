"""Clears .grad and lets autograd put the reduced gradients there."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    scale = {"global": 1, "local": 1 / dist.get_world_size()}
    if loss_divisor not in scale:
        raise ValueError(loss_divisor)
    pairs = []
    for p in parameters:
        has = torch.zeros(1) if p.grad is None else torch.ones(1)
        dist.all_reduce(has)
        if has > 0:
            g = p.grad if p.grad is not None else torch.zeros_like(p)
            p.grad = None
            dist.all_reduce(g)
            pairs.append((p, g * scale[loss_divisor]))
    if pairs:
        torch.autograd.backward([p for p, _ in pairs], [g for _, g in pairs])
