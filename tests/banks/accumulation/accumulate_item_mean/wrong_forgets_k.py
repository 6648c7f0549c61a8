"""diagnosis: sum-of-microbatch-means

Mean losses, and nobody divides by K: the bug of 2024 in its plainest form."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        (0.5 * (model(inputs) - targets).square().sum() / max(1, len(inputs))).backward()
    optimizer.step()
