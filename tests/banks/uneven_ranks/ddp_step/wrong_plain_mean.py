"""diagnosis: mean-of-rank-means | missing-error

The mean over no rows has a NaN loss and a zero gradient: harmless, but the weights are 1/(P·n_r)."""


def ddp_step(ddp_model, inputs, targets, optimizer):
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs) - targets).square().sum(dim=1)).mean().backward()
    optimizer.step()
