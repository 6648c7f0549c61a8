"""diagnosis: raised

All gradients into one float32 vector and back without looking at dtypes: torch refuses a gradient of another dtype.
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
            flat = torch.zeros(p.numel()) if p.grad is None else p.grad.float().flatten()
            dist.all_reduce(flat)
            p.grad = flat.view_as(p) / (dist.get_world_size() if loss_divisor == "local" else 1)
