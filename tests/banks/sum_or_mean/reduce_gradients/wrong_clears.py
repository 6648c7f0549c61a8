"""diagnosis: gradients-lost

Clears gradients after the sum, one line too early.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        total = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(total)
        p.grad = None
