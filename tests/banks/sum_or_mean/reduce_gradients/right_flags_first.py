"""Asks first which parameters have a gradient anywhere, then one sum for each of those."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(f"loss_divisor must be 'global' or 'local', not {loss_divisor!r}")
    parameters = list(parameters)
    held = torch.tensor([float(p.grad is not None) for p in parameters])
    dist.all_reduce(held)
    for parameter, holders in zip(parameters, held.tolist(), strict=True):
        if holders == 0:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        dist.all_reduce(parameter.grad)
        if loss_divisor == "local":
            parameter.grad /= dist.get_world_size()
