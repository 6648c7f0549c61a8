"""diagnosis: window-boundaries | wrong-number-of-steps

Deals microbatches to windows in turn instead of one after the other."""

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    longest = torch.tensor(len(microbatches))
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    weight, updates = next(ddp_model.parameters()), 0
    for start in range(0, longest.item(), accumulation_steps):
        window = microbatches[start // accumulation_steps :: max(1, -(-longest.item() // accumulation_steps))]
        count = torch.tensor(sum(len(inputs) for inputs, _ in window))
        dist.all_reduce(count)
        if not count:
            continue
        optimizer.zero_grad()
        with ddp_model.no_sync():
            for inputs, targets in window:
                loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
                (loss * (dist.get_world_size() / count.item())).backward()
        ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
        optimizer.step()
        updates += 1
    return updates
