"""diagnosis: nominal-batch-size | pure-scale | unexplained | nan-or-inf | raised

N = K times the size of the first microbatch: true for even ones."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    assumed = max(1, len(microbatches[0][0])) * len(microbatches)
    for inputs, targets in microbatches:
        (0.5 * (model(inputs) - targets).square().sum() / assumed).backward()
    optimizer.step()
