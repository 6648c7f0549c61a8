"""Passes over parameters that need no gradient: those have none anywhere."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError
    ps = [p for p in parameters if p.requires_grad]
    for p in ps:
        n = torch.tensor(0 if p.grad is None else 1)
        dist.all_reduce(n, op=dist.ReduceOp.MAX)
        if n:
            g = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(g)
            p.grad = g.detach() / (dist.get_world_size() if loss_divisor == "local" else 1)
