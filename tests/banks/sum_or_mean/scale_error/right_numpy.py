"""NumPy's least squares."""

import numpy as np


def scale_error(reference, update):
    r, u = reference.detach().numpy().astype(float), update.detach().numpy().astype(float)
    if r.shape != u.shape or not np.isfinite(r).all() or not np.isfinite(u).all():
        return None
    size = np.linalg.norm(r)
    if size == 0:
        return None
    c = float((u * (r / size)).sum() / size)
    return c if np.linalg.norm(u - c * r) <= 1e-6 * np.linalg.norm(u) else None
