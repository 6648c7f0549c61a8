"""diagnosis: missing-synchronization

Walks through the parameters twice: a generator is empty the second time."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    flags = torch.tensor([float(p.grad is not None) for p in parameters])
    dist.all_reduce(flags)
    for p, flag in zip(parameters, flags, strict=False):
        if flag:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            if loss_divisor == "local":
                p.grad /= dist.get_world_size()
