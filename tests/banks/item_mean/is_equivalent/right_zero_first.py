"""Looks at the zero reference by itself, then divides."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    if not torch.cat([reference.flatten(), update.flatten()]).isfinite().all():
        return False
    size = reference.norm()
    if size == 0:
        return not update.any().item()
    return ((update - reference).norm() / size).item() <= rtol
