"""diagnosis: unneeded-error

Raises where the contract says None.
"""


def scale_error(reference, update):
    if reference.shape != update.shape:
        raise ValueError("shapes differ")
    r, u = reference.double().flatten(), update.double().flatten()
    if not (r.isfinite().all() and u.isfinite().all()) or not r.any():
        return None
    c = (r @ u / (r @ r)).item()
    return c if (u - c * r).norm() <= 1e-6 * u.norm() else None
