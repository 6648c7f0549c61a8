"""The count of the window first, then each loss divided by it."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        loss = 0.5 * (model(inputs) - targets).square().sum()
        (loss / item_count).backward()
    optimizer.step()
