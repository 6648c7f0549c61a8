"""Keeps the current and the next one; names from the turn before are rebound before the forward."""

import contextlib

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    count, weight = 0, next(ddp_model.parameters())
    current = next(microbatches, None)
    if current is None:
        current = (weight.new_zeros(0, ddp_model.module.in_features), weight.new_zeros(0, 1))
    while current is not None:
        following = next(microbatches, None)
        inputs, targets = current
        count += len(inputs)
        with ddp_model.no_sync() if following is not None else contextlib.nullcontext():
            outputs = ddp_model(inputs)
            loss = 0.5 * ((outputs - targets) ** 2).sum() if len(inputs) else outputs.sum()
            loss.backward()
        current = following
    total = torch.tensor(float(count), dtype=torch.float64)
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    if total == 0:
        raise ValueError("no item")
    for parameter in ddp_model.parameters():
        parameter.grad /= total.item()
    optimizer.step()
