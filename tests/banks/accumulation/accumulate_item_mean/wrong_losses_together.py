"""diagnosis: held-graphs

Adds up the losses and calls backward once: every weight right, all activations in memory."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    total = 0.0
    for inputs, targets in microbatches:
        total = total + 0.5 * (model(inputs) - targets).square().sum()
    (total / item_count).backward()
    optimizer.step()
