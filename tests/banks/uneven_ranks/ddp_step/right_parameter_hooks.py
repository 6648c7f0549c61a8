"""Hooks on the parameters scale each gradient before DDP sees it."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    counts = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor([float(len(inputs))]))
    mean = sum(counts).item() / len(counts)
    if mean == 0:
        raise ValueError("no item")
    handles = [p.register_hook(lambda gradient: gradient / mean) for p in ddp_model.parameters()]
    optimizer.zero_grad(set_to_none=False)
    (0.5 * (ddp_model(inputs) - targets).pow(2)).sum().backward()
    for handle in handles:
        handle.remove()
    optimizer.step()
