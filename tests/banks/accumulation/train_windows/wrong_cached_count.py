"""diagnosis: pure-scale

The count of the first window serves for all."""

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    longest = torch.tensor(len(microbatches))
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    none = next(ddp_model.parameters()).new_empty(0, ddp_model.module.in_features), 0
    updates, kept = 0, None
    for start in range(0, int(longest), accumulation_steps):
        window = microbatches[start:start + accumulation_steps]
        total = torch.tensor(sum(len(x) for x, _ in window))
        dist.all_reduce(total)
        if not total:
            continue
        kept = kept or total.item()
        updates += 1
        optimizer.zero_grad()
        with ddp_model.no_sync():
            for inputs, targets in window:
                (0.5 * (ddp_model(inputs) - targets) ** 2).sum().mul(dist.get_world_size() / kept).backward()
        ddp_model(none[0]).sum().backward()
        optimizer.step()
    return updates
