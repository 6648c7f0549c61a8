"""diagnosis: wrong-type

A 0-d tensor of bool."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return torch.tensor(False)
    return (update - reference).norm() <= rtol * reference.norm()
