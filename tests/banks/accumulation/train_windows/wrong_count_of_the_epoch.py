"""diagnosis: pure-scale

Every window is divided by the items of the whole epoch."""

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    longest = torch.tensor(len(microbatches))
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    none = next(ddp_model.parameters()).new_empty(0, ddp_model.module.in_features)
    updates = 0
    epoch = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(epoch)
    for start in range(0, longest.item(), accumulation_steps):
        window = microbatches[start:start + accumulation_steps]
        total = torch.tensor(sum(len(x) for x, _ in window))
        dist.all_reduce(total)
        if not total:
            continue
        optimizer.zero_grad()
        with ddp_model.no_sync():
            for inputs, targets in window:
                loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
                (loss * dist.get_world_size() / epoch.item()).backward()
        ddp_model(none).sum().backward()
        optimizer.step()
        updates += 1
    return updates
