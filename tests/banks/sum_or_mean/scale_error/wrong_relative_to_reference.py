"""diagnosis: wrong-tolerance

Measures the rest against the reference, not against the update: an update 10⁻⁵ times as long may point anywhere.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    r, u = reference.double().flatten(), update.double().flatten()
    if not r.any():
        return None
    c = (r @ u / (r @ r)).item()
    return c if (u - c * r).norm() <= 1e-6 * r.norm() else None
