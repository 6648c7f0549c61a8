"""diagnosis: wrong-tolerance

The definition as it stands: the norm squares, and the squares of very small and very large numbers are 0 and Inf."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    if not (torch.isfinite(reference).all() and torch.isfinite(update).all()):
        return False
    difference = torch.linalg.vector_norm(update - reference)
    return bool(difference <= rtol * torch.linalg.vector_norm(reference))
