"""diagnosis: mean-of-microbatch-means

As above, but only microbatches with items count for K."""


def accumulate_item_mean(model, microbatches, optimizer):
    item_count = sum(len(inputs) for inputs, _ in microbatches)
    if item_count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    held = [microbatch for microbatch in microbatches if len(microbatch[0])]
    for inputs, targets in held:
        (0.5 * (model(inputs) - targets).square().sum() / len(inputs) / len(held)).backward()
    optimizer.step()
