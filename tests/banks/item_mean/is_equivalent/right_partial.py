"""functools.partial with a norm, and keyword arguments passed on."""

import functools

import torch


def scaled_norm(tensor, unit):
    return torch.linalg.vector_norm(tensor / unit)


def compare(norm, reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (reference - update).isfinite().all():
        return False
    unit = torch.linalg.vector_norm(torch.stack([reference, update]), ord=float("inf"))
    if not unit:
        return True
    return reference.isfinite().all().item() and (norm(reference - update, unit) <= rtol * norm(reference, unit)).item()


is_equivalent = functools.partial(compare, scaled_norm)
