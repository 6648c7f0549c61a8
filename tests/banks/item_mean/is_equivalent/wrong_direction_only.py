"""diagnosis: wrong-answer | wrong-tolerance

The cosine is 1 for every positive factor: a step of twice the length passes."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    if reference.norm() == 0 or update.norm() == 0:
        return bool(reference.norm() == update.norm())
    cosine = torch.dot(reference.flatten(), update.flatten()) / reference.norm() / update.norm()
    return bool(1 - cosine <= rtol)
