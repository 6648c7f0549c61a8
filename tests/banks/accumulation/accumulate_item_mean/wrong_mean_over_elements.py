"""diagnosis: pure-scale

Means over elements, weighted by n_k/N: each item is divided by its outputs, too."""


def accumulate_item_mean(model, microbatches, optimizer):
    count = sum(len(inputs) for inputs, _ in microbatches)
    if count == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        if len(inputs):
            ((0.5 * (model(inputs) - targets) ** 2).mean() * len(inputs) / count).backward()
    optimizer.step()
