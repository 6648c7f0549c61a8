"""Before each window: items, and whether anybody has more; sums, divided at the end."""

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    left, updates = list(microbatches), 0
    while True:
        window, left = left[:accumulation_steps], left[accumulation_steps:]
        facts = torch.tensor([sum(len(x) for x, _ in window), len(window)])
        dist.all_reduce(facts)
        item_count, microbatch_count = facts.tolist()
        if microbatch_count == 0:
            return updates
        if item_count == 0:
            continue
        optimizer.zero_grad(set_to_none=False)
        for inputs, targets in window:
            (0.5 * (ddp_model.module(inputs) - targets).square().sum()).backward()
        for parameter in ddp_model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= item_count
        optimizer.step()
        updates += 1
