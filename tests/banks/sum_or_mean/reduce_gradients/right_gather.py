"""Gathers all gradients as lists and adds them on every rank."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in {"global", "local"}:
        raise ValueError(loss_divisor)
    parameters = [p for p in parameters]
    mine = [None if p.grad is None else p.grad.double().tolist() for p in parameters]
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    for place, parameter in enumerate(parameters):
        there = [torch.tensor(own[place], dtype=torch.float64) for own in everyone if own[place] is not None]
        if there:
            total = sum(there)
            total = total / len(everyone) if loss_divisor == "local" else total
            parameter.grad = total.to(parameter.dtype).reshape(parameter.shape)
