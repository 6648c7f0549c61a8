"""diagnosis: pure-scale

mean() over items and outputs: d_out times too little."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        errors = model(inputs) - targets
        (0.5 * errors.square().sum() / (item_count * targets.shape[1])).backward()
    optimizer.step()
