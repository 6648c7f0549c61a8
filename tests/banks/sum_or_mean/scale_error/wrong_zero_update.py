"""diagnosis: wrong-answer

Divides by the norm of the update without asking whether it is zero, and NaN ≤ 10⁻⁶ is false.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    r, u = reference.double().flatten(), update.double().flatten()
    if not r.any():
        return None
    c = (r @ u / (r @ r)).item()
    return c if (u - c * r).norm() / u.norm() <= 1e-6 else None
