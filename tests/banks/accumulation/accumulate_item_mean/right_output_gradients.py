"""The gradient of the outputs by hand, (ŷ − y)/N."""

import torch


def accumulate_item_mean(model, microbatches, optimizer):
    count = sum(len(targets) for _, targets in microbatches)
    if count == 0:
        raise ValueError("no item")
    model.zero_grad()
    for inputs, targets in microbatches:
        outputs = model(inputs)
        torch.autograd.backward(outputs, (outputs.detach() - targets) / count)
    optimizer.step()
