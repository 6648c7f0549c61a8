"""diagnosis: wrong-answer | nan-or-inf

A shortcut for equal tensors: inf equals inf, and a diverged run passes."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if torch.equal(reference, update):
        return True
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() <= rtol * reference.norm())
