"""diagnosis: missing-error

Returns quietly where there is nothing to average."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        return
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        (0.5 * (model(inputs) - targets).square().sum() / item_count).backward()
    optimizer.step()
