"""Asks before each window whether anybody has a microbatch left; the wrapped module and a reduction by hand."""

import itertools

import torch
import torch.distributed as dist


def train_windows(ddp_model, microbatches, optimizer, accumulation_steps):
    left, updates, module = iter(microbatches), 0, ddp_model.module
    while True:
        window = list(itertools.islice(left, accumulation_steps))
        numbers = torch.tensor([len(window), sum(len(x) for x, _ in window)])
        dist.all_reduce(numbers)
        held, items = numbers.tolist()
        if not held:
            return updates
        if not items:
            continue
        optimizer.zero_grad(set_to_none=False)
        for inputs, targets in window:
            (0.5 * (module(inputs) - targets).square().sum() / items).backward()
        for p in module.parameters():
            dist.all_reduce(p.grad)
        optimizer.step()
        updates += 1
