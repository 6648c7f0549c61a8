"""diagnosis: wrong-number-of-steps

Exhausted ranks do not step; they get the finished parameters.
"""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    n = torch.tensor(len(batches))
    dist.all_reduce(n, op=dist.ReduceOp.MAX)
    u = 0
    for i in range(int(n)):
        x, y = batches[i] if i < len(batches) else (None, None)
        N = torch.tensor(0 if x is None else len(x))
        dist.all_reduce(N)
        if not N:
            continue
        ps = list(ddp_model.parameters())
        gs = [torch.zeros_like(p) for p in ps]
        if x is not None:
            gs = list(torch.autograd.grad((0.5 * (ddp_model.module(x) - y) ** 2).sum(), ps))
        for p, g in zip(ps, gs, strict=True):
            dist.all_reduce(g)
            p.grad = g / N
        if x is not None:
            optimizer.step()
        src = torch.tensor(dist.get_rank() if x is not None else -1)
        dist.all_reduce(src, op=dist.ReduceOp.MAX)
        for p in ps:
            dist.broadcast(p.data, int(src))
        u += 1
    return u
