"""diagnosis: should-be-none

Flattens both, so that a matrix is compared with one of another shape.
"""


def scale_error(reference, update):
    r, u = reference.double().flatten(), update.double().flatten()
    if r.numel() != u.numel() or not (r.isfinite().all() and u.isfinite().all()) or not r.any():
        return None
    c = (r @ u / (r @ r)).item()
    return c if (u - c * r).norm() <= 1e-6 * u.norm() else None
