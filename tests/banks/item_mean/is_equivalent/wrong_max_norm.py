"""diagnosis: wrong-tolerance | wrong-answer

The largest element instead of the 2-norm."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool(torch.dist(update, reference, p=float("inf")) <= rtol * reference.abs().max())
