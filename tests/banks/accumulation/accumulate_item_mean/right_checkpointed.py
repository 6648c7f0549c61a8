"""Activation checkpointing: the forward runs once more in the backward."""

from torch.utils.checkpoint import checkpoint


def accumulate_item_mean(model, microbatches, optimizer):
    count = sum(len(inputs) for inputs, _ in microbatches)
    if count == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        outputs = checkpoint(model, inputs, use_reentrant=False)
        (0.5 * (outputs - targets) ** 2).sum().div(count).backward()
    optimizer.step()
