"""diagnosis: rank-lost | gradients-lost | unexplained | no-update

break where continue was meant: what comes after an empty microbatch is lost."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        if not len(inputs):
            break
        (0.5 * (model(inputs) - targets).square().sum() / item_count).backward()
    optimizer.step()
