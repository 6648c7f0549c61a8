"""Nobody derives anything: equal shards of ones are divided and reduced, and the result is compared with their mean."""

import torch


def gradient_factor(loss_divisor, reduction, world_size):
    if world_size < 1 or {loss_divisor} - {"global", "local"} or {reduction} - {"sum", "mean"}:
        raise ValueError("no such way to train")
    items = torch.ones(world_size, 2, dtype=torch.float64)
    local = items.sum(1) / (items.numel() if loss_divisor == "global" else items.shape[1])
    update = local.sum() if reduction == "sum" else local.mean()
    return (update / items.mean()).item()
