"""reduce_scatter of one padded vector with gradients and flags, then all_gather."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    parameters, size = list(parameters), dist.get_world_size()
    if not parameters:
        return
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    flags = torch.tensor([float(p.grad is not None) for p in parameters], dtype=torch.float64)
    flat = torch.cat([flags, *(g.double().reshape(-1) for g in grads)])
    padded = torch.nn.functional.pad(flat, (0, -len(flat) % size))
    part = padded.new_empty(len(padded) // size)
    dist.reduce_scatter_tensor(part, padded)
    dist.all_gather_into_tensor(padded, part)
    divisor = size if loss_divisor == "local" else 1
    start = len(parameters)
    for number, p in enumerate(parameters):
        piece = padded[start:start + p.numel()].view(p.shape)
        start += p.numel()
        p.grad = (piece / divisor).to(p.dtype) if padded[number] else None
