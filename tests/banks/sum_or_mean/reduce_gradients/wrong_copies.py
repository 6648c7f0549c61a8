"""diagnosis: missing-synchronization

Reduces copies and throws them away: the .grad are what they were.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        gradient = torch.zeros_like(p) if p.grad is None else p.grad.clone()
        dist.all_reduce(gradient)
        if loss_divisor == "local":
            gradient = gradient / dist.get_world_size()
