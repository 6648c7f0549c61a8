"""diagnosis: held-graphs

retain_graph=True, copied from somewhere, keeps each loss's graph as long as the loss is kept for the log."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    losses = []
    for inputs, targets in microbatches:
        losses.append(0.5 * (model(inputs) - targets).square().sum() / item_count)
        losses[-1].backward(retain_graph=True)
    optimizer.step()
    return sum(losses).item()
