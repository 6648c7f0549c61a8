"""diagnosis: should-be-none

Zeros instead of None everywhere, also where no rank has a gradient: the optimizer would then step there, with decay
and momentum.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        if loss_divisor == "local":
            p.grad /= dist.get_world_size()
