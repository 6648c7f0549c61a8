"""diagnosis: wrong-answer | should-be-none

The ratio of the first entries, and 0/0 where the first is zero.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    r, u = reference.double().flatten(), update.double().flatten()
    c = (u[0] / r[0]).item()
    return c if (u - c * r).norm() <= 1e-6 * u.norm() else None
