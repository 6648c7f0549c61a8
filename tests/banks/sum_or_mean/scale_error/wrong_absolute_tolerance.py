"""diagnosis: wrong-tolerance

A fixed bound: too strict for long updates, and short ones pass with any direction.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    r, u = reference.double().flatten(), update.double().flatten()
    if not r.any():
        return None
    c = (r @ u / (r @ r)).item()
    return c if (u - c * r).norm() <= 1e-6 else None
