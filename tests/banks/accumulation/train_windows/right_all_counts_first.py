"""All counts of all ranks in one object gather; then nobody has to ask again."""

import contextlib

import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, [len(inputs) for inputs, _ in microbatches])
    weight, updates, start = next(ddp_model.parameters()), 0, 0
    none = weight.new_zeros(0, ddp_model.module.in_features), weight.new_zeros(())
    while any(len(counts) > start for counts in every):
        end = start + accumulation_steps
        item_count = sum(sum(counts[start:end]) for counts in every)
        window, start = microbatches[start:end] or [none], end
        if item_count == 0:
            continue
        optimizer.zero_grad()
        for k, (inputs, targets) in enumerate(window):
            with contextlib.nullcontext() if k == len(window) - 1 else ddp_model.no_sync():
                (0.5 * (ddp_model(inputs) - targets).square().sum() * (len(every) / item_count)).backward()
        optimizer.step()
        updates += 1
    return updates
