"""Squares of exact fractions: nothing is rounded, and nothing is too small or too large."""

from fractions import Fraction


def is_equivalent(reference, update, rtol=1e-6):
    if tuple(reference.shape) != tuple(update.shape):
        return False
    if not (reference.isfinite().all() and update.isfinite().all()):
        return False
    a, b = ([Fraction(number) for number in tensor.flatten().tolist()] for tensor in (reference, update))
    off = sum((one - other) ** 2 for one, other in zip(a, b, strict=True))
    return off <= Fraction(rtol) ** 2 * sum(number**2 for number in a)
