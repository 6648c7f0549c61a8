"""diagnosis: wrong-answer

Halves the traffic by bfloat16: three digits are left.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError
    for p in parameters:
        n = torch.tensor(int(p.grad is not None))
        dist.all_reduce(n)
        if n:
            g = (torch.zeros_like(p.data) if p.grad is None else p.grad).bfloat16()
            dist.all_reduce(g)
            p.grad = g.to(p.dtype) / (dist.get_world_size() if loss_divisor == "local" else 1)
