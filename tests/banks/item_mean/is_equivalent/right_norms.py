"""The definition, with shape and finiteness looked at first."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    if not (torch.isfinite(reference).all() and torch.isfinite(update).all()):
        return False
    difference = torch.linalg.vector_norm(update - reference)
    return bool(difference <= rtol * torch.linalg.vector_norm(reference))
