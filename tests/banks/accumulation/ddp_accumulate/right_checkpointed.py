"""Activation checkpointing in every microbatch; the plain sums are reduced in the last backward."""

import contextlib

import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint


def ddp_accumulate(ddp_model, microbatches, optimizer):
    total = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(total)
    if not total:
        raise ValueError("no item")
    weight = next(ddp_model.parameters())
    queue = list(microbatches) or [(weight.new_zeros(0, ddp_model.module.in_features), 0.0)]
    optimizer.zero_grad()
    for number, (inputs, targets) in enumerate(queue, start=1):
        with contextlib.nullcontext() if number == len(queue) else ddp_model.no_sync():
            outputs = ddp_model(inputs) if number == len(queue) else checkpoint(ddp_model, inputs, use_reentrant=False)
            (0.5 * (outputs - targets) ** 2).sum().mul(dist.get_world_size() / total).backward()
    optimizer.step()
