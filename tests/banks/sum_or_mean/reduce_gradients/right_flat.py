"""One float64 vector with all gradients and flags: a single all_reduce, whatever the dtypes."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    parameters = tuple(parameters)
    if not parameters:
        return
    pieces = []
    for parameter in parameters:
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        flag = torch.tensor([parameter.grad is not None], dtype=torch.float64)
        pieces += [flag, gradient.detach().double().flatten()]
    flat = torch.cat(pieces)
    dist.all_reduce(flat)
    at = 0
    for parameter in parameters:
        flag, total = flat[at], flat[at + 1 : at + 1 + parameter.numel()]
        at += 1 + parameter.numel()
        if flag:
            if loss_divisor == "local":
                total = total / dist.get_world_size()
            parameter.grad = total.reshape(parameter.shape).to(parameter.dtype)
