"""torch.renorm of one vector of the gradients reduced by hand."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    total = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    parameters = list(ddp_model.module.parameters())
    flat = torch.cat([torch.zeros_like(p).flatten() for p in parameters])
    for inputs, targets in microbatches:
        loss = 0.5 * (ddp_model.module(inputs) - targets).square().sum() / total
        flat += torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)])
    dist.all_reduce(flat)
    clipped = torch.renorm(flat[None], 2, 0, max_norm)[0]
    for p, part in zip(parameters, clipped.split([p.numel() for p in parameters]), strict=True):
        p.grad = part.view_as(p)
    optimizer.step()
    return flat.norm().item()
