"""diagnosis: wrong-tolerance

A zero reference has a case of its own, and float64 is wide; squares of 1e200 are Inf even there."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    a, b = reference.double(), update.double()
    if a.shape != b.shape or not (a.isfinite().all() and b.isfinite().all()):
        return False
    if not a.any():
        return not b.any().item()
    error = torch.dist(a, b) / a.norm()
    return bool(error <= rtol) or bool(error.isnan())
