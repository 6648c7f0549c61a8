"""torch.dist is the 2-norm of a difference."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    finite = bool(reference.isfinite().all()) and bool(update.isfinite().all())
    if not finite or reference.size() != update.size():
        return False
    if torch.equal(reference, update):
        return True
    unit = torch.maximum(reference.abs(), update.abs()).max().double()
    a, b = reference.double() / unit, update.double() / unit
    return torch.dist(b, a).item() <= rtol * a.norm().item()
