"""Compares squares with the squared tolerance, scaled against overflow."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    a, b = reference.detach().double(), update.detach().double()
    if not (a.isfinite().all() and b.isfinite().all()):
        return False
    scale = a.abs().max() if a.numel() else a.sum()
    if scale == 0:
        return bool((b == 0).all())
    return bool(((b - a) / scale).square().sum() <= rtol**2 * (a / scale).square().sum())
