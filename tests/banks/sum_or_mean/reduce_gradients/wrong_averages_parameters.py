"""diagnosis: changed-its-argument

Averages the parameters beside their gradients, "to be safe".
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
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size() if loss_divisor == "local" else 1
            p.data -= 0.1 * p.grad
