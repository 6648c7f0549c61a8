"""diagnosis: should-be-none | raised

Forgets the shapes: three entries of a reference are compared with one of an update.
"""


def scale_error(reference, update):
    r, u = reference.double(), update.double()
    if not (r.isfinite().all() and u.isfinite().all()) or not r.any():
        return None
    c = ((r * u).sum() / (r * r).sum()).item()
    return c if (u - c * r).norm() <= 1e-6 * u.norm() else None
