"""numpy.linalg.norm in float64."""

import numpy as np


def is_equivalent(reference, update, rtol=1e-6):
    a = reference.detach().numpy().astype(np.float64)
    b = update.detach().numpy().astype(np.float64)
    if a.shape != b.shape or not np.isfinite(a).all() or not np.isfinite(b).all():
        return False
    return bool(np.linalg.norm((b - a).ravel()) <= rtol * np.linalg.norm(a.ravel()))
