"""Local means, weighted by n_k/N; empty microbatches are passed over."""


def accumulate_item_mean(model, microbatches, optimizer):
    held = [microbatch for microbatch in microbatches if len(microbatch[0])]
    item_count = sum(len(inputs) for inputs, _ in held)
    if not held:
        raise ValueError("N = 0")
    optimizer.zero_grad()
    for inputs, targets in held:
        errors = model(inputs) - targets
        mean = 0.5 * (errors**2).sum(dim=1).mean()
        (mean * (len(inputs) / item_count)).backward()
    optimizer.step()
