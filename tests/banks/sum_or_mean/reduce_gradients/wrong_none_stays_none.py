"""diagnosis: not-synchronized

A rank that had no gradient helps with zeros, but keeps its None: its optimizer skips the parameter and drifts.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        total = torch.zeros_like(p) if p.grad is None else p.grad.clone()
        dist.all_reduce(total)
        if p.grad is not None:
            p.grad = total / (dist.get_world_size() if loss_divisor == "local" else 1)
