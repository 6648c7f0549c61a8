"""Lets NaN fail the comparison and catches shapes with an exception of its own."""

import torch


def relative_error(reference, update):
    if update.shape != reference.shape:
        raise TypeError("shapes")
    size, off = reference.norm().item(), (update - reference).norm().item()
    if off == 0 and size == 0:
        return 0.0
    return off / size if size else float("inf")


def is_equivalent(reference, update, rtol=1e-6):
    try:
        error = relative_error(reference, update)
    except TypeError:
        return False
    return error <= rtol and bool(torch.isfinite(update).all()) and bool(torch.isfinite(reference).all())
