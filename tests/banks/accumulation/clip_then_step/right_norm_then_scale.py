"""get_total_norm, then clip_grads_with_norm_: the two halves of clip_grad_norm_."""

import torch
import torch.distributed as dist
from torch.nn.utils import clip_grads_with_norm_, get_total_norm


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    sizes = [None] * dist.get_world_size()
    dist.all_gather_object(sizes, sum(len(x) for x, _ in microbatches))
    if sum(sizes) == 0:
        raise ValueError(f"no items on {len(sizes)} ranks")
    ddp_model.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            errors = ddp_model(inputs) - targets
            (errors.pow(2).sum() * (0.5 * len(sizes) / sum(sizes))).backward()
    weight = next(ddp_model.parameters())
    ddp_model(torch.zeros(0, ddp_model.module.in_features, dtype=weight.dtype)).sum().backward()
    norm = get_total_norm([p.grad for p in ddp_model.parameters()])
    clip_grads_with_norm_(ddp_model.parameters(), max_norm, norm)
    optimizer.step()
    return norm.item()
