"""Starts an asynchronous sum for everything, then waits for all of it."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    scale = {"global": 1.0, "local": 1 / dist.get_world_size()}.get(loss_divisor)
    if scale is None:
        raise ValueError(f"{loss_divisor!r} is neither 'global' nor 'local'")
    waiting = []
    for p in parameters:
        there = torch.tensor(p.grad is not None, dtype=torch.uint8)
        total = torch.zeros_like(p.data) if p.grad is None else p.grad * scale
        works = dist.all_reduce(there, op=dist.ReduceOp.MAX, async_op=True), dist.all_reduce(total, async_op=True)
        waiting.append((p, there, total, works))
    for p, there, total, works in waiting:
        for work in works:
            work.wait()
        if there:
            p.grad = total
