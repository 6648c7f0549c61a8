"""One Newton step on the squared distance finds the factor."""

import torch


def scale_error(reference, update):
    if reference.shape != update.shape:
        return None
    r, u = reference.double().clone(), update.double().clone()
    if not (r.isfinite().all() and u.isfinite().all() and r.count_nonzero()):
        return None
    k = r.norm()
    r = r / k
    c = torch.zeros((), dtype=torch.float64, requires_grad=True)
    loss = 0.5 * (u - c * r).pow(2).sum()
    (g,) = torch.autograd.grad(loss, c)
    best = -g.item()
    return best / k.item() if (u - best * r).norm() <= 1e-6 * u.norm() else None
