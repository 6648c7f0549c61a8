"""Looks at the zero reference by itself, then scales both by a power of two, which rounds nothing."""

import torch


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    if not torch.cat([reference.flatten(), update.flatten()]).isfinite().all():
        return False
    if not reference.any():
        return not update.any().item()
    _, exponent = torch.frexp(reference.abs().max())
    reference, update = torch.ldexp(reference, -exponent), torch.ldexp(update, -exponent)
    return ((update - reference).norm() / reference.norm()).item() <= rtol
