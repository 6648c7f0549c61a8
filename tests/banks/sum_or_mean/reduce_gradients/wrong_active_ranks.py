"""diagnosis: active-ranks

A mean over the ranks that have a gradient: those without count as zeros, and zeros are part of a mean.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        holders = torch.tensor(float(p.grad is not None), dtype=torch.float64)
        dist.all_reduce(holders)
        if holders:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            if loss_divisor == "local":
                p.grad /= holders.item()
