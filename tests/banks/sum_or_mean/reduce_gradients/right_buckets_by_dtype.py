"""A flat bucket for each dtype, as DDP has them, in the order in which the dtypes appear."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    parameters = list(parameters)
    if not parameters:
        return None
    present = torch.zeros(len(parameters), dtype=torch.int64)
    for place, parameter in enumerate(parameters):
        present[place] = 0 if parameter.grad is None else 1
    dist.all_reduce(present)
    buckets = {}
    for parameter, count in zip(parameters, present.tolist(), strict=True):
        if count:
            buckets.setdefault(parameter.dtype, []).append(parameter)
    for dtype, held in buckets.items():
        pieces = [torch.zeros(p.numel(), dtype=dtype) if p.grad is None else p.grad.flatten() for p in held]
        flat = torch.cat(pieces)
        dist.all_reduce(flat)
        if loss_divisor == "local":
            flat.div_(dist.get_world_size())
        for parameter, piece in zip(held, flat.split([p.numel() for p in held]), strict=True):
            parameter.grad = piece.view_as(parameter)
    return None
