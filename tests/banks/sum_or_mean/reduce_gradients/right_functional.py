"""A flag and a gradient per parameter in one coalesced functional sum."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def reduce_gradients(parameters, loss_divisor):
    divisor = dict(local=dist.get_world_size()).get(loss_divisor, 1)
    if loss_divisor not in {"local", "global"}:
        raise ValueError(loss_divisor)
    for p in list(parameters):
        there = torch.ones((), dtype=p.dtype) * (p.grad is not None)
        given = torch.zeros_like(p.data) if p.grad is None else p.grad / divisor
        flag, total = functional.all_reduce_coalesced([there, given], "sum", dist.group.WORLD)
        if flag.item():
            p.grad = functional.wait_tensor(total)
