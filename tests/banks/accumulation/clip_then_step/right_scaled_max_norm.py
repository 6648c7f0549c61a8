"""Clips the reduced mean of sums at max_norm·N/P, then scales: the same cut at another size."""

import contextlib

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    total = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(total)
    if not total:
        raise ValueError("no item")
    scale = total.item() / dist.get_world_size()
    weight = next(ddp_model.parameters())
    queue = list(microbatches) or [(weight.new_zeros(0, ddp_model.module.in_features), 0.0)]
    optimizer.zero_grad()
    for number, (inputs, targets) in enumerate(queue, start=1):
        with contextlib.nullcontext() if number == len(queue) else ddp_model.no_sync():
            (0.5 * (ddp_model(inputs) - targets) ** 2).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(ddp_model.parameters(), max_norm * scale)
    for p in ddp_model.parameters():
        p.grad.div_(scale)
    optimizer.step()
    return float(norm) / scale
