"""diagnosis: unexplained

All that is in .grad is divided by N after each backward: the first microbatch K times."""


def accumulate_item_mean(model, microbatches, optimizer):
    count = sum(len(inputs) for inputs, _ in microbatches)
    if not count:
        raise ValueError("no item")
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        (0.5 * (model(inputs) - targets).square().sum()).backward()
        for p in model.parameters():
            p.grad /= count
    optimizer.step()
