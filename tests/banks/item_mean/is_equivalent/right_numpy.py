"""numpy.linalg.norm of both, in units of the largest value."""

import numpy as np


def is_equivalent(reference, update, rtol=1e-6):
    a = reference.detach().numpy().astype(np.float64)
    b = update.detach().numpy().astype(np.float64)
    if a.shape != b.shape or not np.isfinite(a).all() or not np.isfinite(b).all():
        return False
    largest = np.abs(a).max()
    if largest == 0:
        return not b.any()
    with np.errstate(over="ignore"):
        return bool(np.linalg.norm(((b - a) / largest).ravel()) <= rtol * np.linalg.norm((a / largest).ravel()))
