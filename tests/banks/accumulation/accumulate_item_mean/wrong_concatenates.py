"""diagnosis: held-graphs

One batch of everything: what accumulation was meant to avoid."""

import torch


def accumulate_item_mean(model, microbatches, optimizer):
    inputs = torch.cat([torch.zeros(0, model.in_features), *(x for x, _ in microbatches)])
    if not len(inputs):
        raise ValueError("no item")
    targets = torch.cat([y for _, y in microbatches])
    optimizer.zero_grad()
    (0.5 * (model(inputs) - targets).square().sum() / len(inputs)).backward()
    optimizer.step()
