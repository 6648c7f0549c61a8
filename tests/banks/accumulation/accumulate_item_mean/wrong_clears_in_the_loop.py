"""diagnosis: gradients-lost

zero_grad inside the loop: only the last microbatch is left."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        optimizer.zero_grad()
        (0.5 * (model(inputs) - targets).square().sum() / item_count).backward()
    optimizer.step()
