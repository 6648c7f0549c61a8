"""From the last microbatch to the first: a sum has no order. Losses are logged, detached."""


def accumulate_item_mean(model, microbatches, optimizer):
    total = float(sum(targets.shape[0] for _, targets in microbatches))
    if total < 1:
        raise ValueError(f"{len(microbatches)} microbatches and no item")
    for parameter in model.parameters():
        parameter.grad = None
    logged = 0.0
    for inputs, targets in reversed(microbatches):
        loss = ((model(inputs) - targets) ** 2).sum() / (2 * total)
        loss.backward()
        logged += loss.item()
    optimizer.step()
    return logged
