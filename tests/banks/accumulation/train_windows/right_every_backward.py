"""Padded lists and a reduction in every backward: the same updates, with more traffic than needed."""

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    most = torch.tensor(len(microbatches))
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    weight, updates = next(ddp_model.parameters()), 0
    none = weight.new_zeros(0, ddp_model.module.in_features), weight.new_zeros(())
    for start in range(0, int(most), accumulation_steps):
        window = [microbatches[k] if k < len(microbatches) else none
                  for k in range(start, min(start + accumulation_steps, int(most)))]
        total = torch.tensor(float(sum(len(x) for x, _ in window)), dtype=torch.float64)
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        if total:
            optimizer.zero_grad()
            for inputs, targets in window:
                (0.5 * (ddp_model(inputs) - targets).square().sum() / float(total)).backward()
            optimizer.step()
            updates += 1
    return updates
