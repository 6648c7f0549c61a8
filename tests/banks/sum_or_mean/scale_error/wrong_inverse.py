"""diagnosis: wrong-answer

The factor that turns the update into the reference.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    if not reference.any():
        return None
    if not update.any():
        return 0.0
    r, u = reference.double().flatten(), update.double().flatten()
    c = (r @ u / (u @ u)).item()
    return c if (r - c * u).norm() <= 1e-6 * r.norm() else None
