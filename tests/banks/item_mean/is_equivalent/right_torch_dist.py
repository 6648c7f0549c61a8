"""torch.dist is the 2-norm of a difference."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    finite = bool(reference.isfinite().all()) and bool(update.isfinite().all())
    if not finite or reference.size() != update.size():
        return False
    return torch.dist(update.double(), reference.double()).item() <= rtol * reference.double().norm().item()
