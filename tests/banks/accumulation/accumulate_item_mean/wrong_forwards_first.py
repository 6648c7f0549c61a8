"""diagnosis: held-graphs

All forwards first, then a backward for each."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    outputs = [model(inputs) for inputs, _ in microbatches]
    for output, (_, targets) in zip(outputs, microbatches, strict=True):
        (0.5 * (output - targets).square().sum() / item_count).backward()
    optimizer.step()
