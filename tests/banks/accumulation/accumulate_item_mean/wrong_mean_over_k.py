"""diagnosis: mean-of-microbatch-means

The loop of a thousand scripts: mean loss, divided by K, "so that accumulation is an average"."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        if len(inputs):
            (0.5 * (model(inputs) - targets).square().sum() / len(inputs) / len(microbatches)).backward()
    optimizer.step()
