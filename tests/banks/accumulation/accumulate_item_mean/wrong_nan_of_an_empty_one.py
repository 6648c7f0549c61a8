"""diagnosis: nan-or-inf

The gradient of each microbatch is divided by its own count before it is weighted: 0/0 for an empty one."""

import torch


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    total = [torch.zeros_like(p) for p in model.parameters()]
    for inputs, targets in microbatches:
        gradients = torch.autograd.grad(0.5 * (model(inputs) - targets).square().sum(), list(model.parameters()))
        for held, gradient in zip(total, gradients, strict=True):
            held += gradient / len(inputs) * (len(inputs) / item_count) if len(inputs) else gradient / len(inputs)
    for parameter, gradient in zip(model.parameters(), total, strict=True):
        parameter.grad = gradient
    optimizer.step()
