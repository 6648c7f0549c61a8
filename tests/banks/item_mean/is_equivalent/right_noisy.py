"""Prints the error that it found."""

import sys

import torch


def is_equivalent(reference, update, rtol=1e-6):
    print("shapes", reference.shape, update.shape, file=sys.stderr)
    if reference.shape != update.shape:
        return False
    unit = max(reference.abs().max(), update.abs().max())
    if unit == 0:
        return True
    reference, update = reference / unit, update / unit
    error, size = torch.dist(reference, update), torch.dist(reference, torch.zeros_like(reference))
    print("error", error, "of", size)
    finite = torch.isfinite(error) & torch.isfinite(size) & torch.isfinite(unit)
    return bool(finite & (error <= rtol * size))
