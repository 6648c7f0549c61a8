"""diagnosis: never-divided

Sums, and no division at all."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        (0.5 * (model(inputs) - targets).square().sum()).backward()
    optimizer.step()
