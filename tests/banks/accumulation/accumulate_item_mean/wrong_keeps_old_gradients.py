"""diagnosis: stale-gradients

Does not clear what stood in .grad before the call."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    for inputs, targets in microbatches:
        (0.5 * (model(inputs) - targets).square().sum() / item_count).backward()
    optimizer.step()
