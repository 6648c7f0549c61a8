"""diagnosis: not-synchronized

A reduce where an all_reduce is needed: only rank 0 has the result.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        flag = torch.tensor(int(p.grad is not None))
        dist.all_reduce(flag)
        if flag:
            mine = torch.zeros_like(p) if p.grad is None else p.grad.clone()
            dist.reduce(mine, dst=0)
            if dist.get_rank() == 0:
                p.grad = mine / (dist.get_world_size() if loss_divisor == "local" else 1)
            elif p.grad is None:
                p.grad = torch.zeros_like(p)
