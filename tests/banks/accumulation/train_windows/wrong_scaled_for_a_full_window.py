"""diagnosis: full-window-divisor-on-partial-window

An item mean, but with len(window)/accumulation_steps on top, as trainers do that fix K at the start."""

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    longest = torch.tensor(len(microbatches))
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    weight, updates = next(ddp_model.parameters()), 0
    for start in range(0, longest.item(), accumulation_steps):
        window = microbatches[start : start + accumulation_steps]
        count = torch.tensor(sum(len(inputs) for inputs, _ in window))
        dist.all_reduce(count)
        if not count:
            continue
        optimizer.zero_grad()
        held = torch.tensor(len(window))
        dist.all_reduce(held, op=dist.ReduceOp.MAX)
        most = held.item()
        with ddp_model.no_sync():
            for inputs, targets in window:
                loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
                (loss * (dist.get_world_size() / count.item() * most / accumulation_steps)).backward()
        ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
        optimizer.step()
        updates += 1
    return updates
