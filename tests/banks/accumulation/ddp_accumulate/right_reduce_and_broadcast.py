"""autograd.grad on the wrapped module; rank 0 gets one vector and hands it on."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def ddp_accumulate(ddp_model, microbatches, optimizer):
    parameters = list(ddp_model.module.parameters())
    held = [torch.zeros_like(p) for p in parameters]
    for inputs, targets in microbatches:
        loss = F.mse_loss(ddp_model.module(inputs), targets, reduction="sum") / 2
        held = [a + g for a, g in zip(held, torch.autograd.grad(loss, parameters), strict=True)]
    count = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item")
    flat = torch.cat([a.flatten() for a in held])
    dist.reduce(flat, 0)
    dist.broadcast(flat, 0)
    for p, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        p.grad = part.view_as(p) / count
    optimizer.step()
