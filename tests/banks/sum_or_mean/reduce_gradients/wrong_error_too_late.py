"""diagnosis: changed-its-argument

The word is looked at after the sum: the error comes when the gradients are no longer what they were.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    for p in parameters:
        flag = torch.tensor(int(p.grad is not None))
        dist.all_reduce(flag)
        if flag:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            if loss_divisor == "local":
                p.grad /= dist.get_world_size()
            elif loss_divisor != "global":
                raise ValueError(loss_divisor)
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
