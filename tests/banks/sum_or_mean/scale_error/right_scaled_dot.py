"""Both are scaled to a largest value of 1 before anything is squared."""

import torch


def scale_error(reference, update):
    if reference.shape != update.shape:
        return None
    a, b = reference.double().flatten(), update.double().flatten()
    if not (a.isfinite().all() and b.isfinite().all()) or not a.any():
        return None
    one, other = a.abs().max(), b.abs().max()
    if not other:
        return 0.0
    a, b = a / one, b / other
    c = torch.einsum("i,i->", a, b) / torch.einsum("i,i->", a, a)
    return (c * other / one).item() if (b - c * a).norm() <= 1e-6 * b.norm() else None
