"""Lists padded with empty microbatches to the same length; afterwards all ranks are alike."""

import contextlib

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    most = torch.tensor([len(microbatches)])
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    weight = next(ddp_model.parameters())
    none = weight.new_zeros(0, ddp_model.module.in_features), weight.new_zeros(())
    padded = [*microbatches, *[none] * (most.item() - len(microbatches))]
    counts = torch.tensor([len(inputs) for inputs, _ in padded], dtype=torch.int64)
    if len(padded):
        dist.all_reduce(counts)
    updates = 0
    for window, totals in zip(_cut(padded, accumulation_steps), counts.split(accumulation_steps), strict=False):
        item_count = int(totals.sum())
        if not item_count:
            continue
        optimizer.zero_grad()
        for k, (inputs, targets) in enumerate(window):
            with ddp_model.no_sync() if k + 1 < len(window) else contextlib.nullcontext():
                loss = 0.5 * (ddp_model(inputs) - targets).square().sum() / item_count
                (loss * dist.get_world_size()).backward()
        optimizer.step()
        updates += 1
    return updates


def _cut(items, size):
    return [items[start : start + size] for start in range(0, len(items), size)]
