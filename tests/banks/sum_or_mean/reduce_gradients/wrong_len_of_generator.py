"""diagnosis: raised

Takes the length of an iterable, and a generator has none.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    held = torch.zeros(len(parameters))
    for place, p in enumerate(parameters):
        held[place] = p.grad is not None
    dist.all_reduce(held)
    for p, holders in zip(parameters, held.tolist(), strict=True):
        if holders:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size() if loss_divisor == "local" else 1
