"""diagnosis: not-synchronized

Rank 0's .grad says which parameters are reduced: those it lacks are left out.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError
    ps = list(parameters)
    flags = [[p.grad is not None for p in ps]]
    dist.broadcast_object_list(flags, src=0)
    for p, f in zip(ps, flags[0], strict=True):
        if f:
            p.grad = torch.zeros_like(p.data) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            if loss_divisor == "local":
                p.grad /= dist.get_world_size()
