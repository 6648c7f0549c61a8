"""diagnosis: wrong-answer

Takes the factor from the norms after comparing directions by |cos|: an ascent looks like a descent.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    r, u = reference.double().flatten(), update.double().flatten()
    if not r.any():
        return None
    c = (u.norm() / r.norm()).item()
    return c if min((u - c * r).norm(), (u + c * r).norm()) <= 1e-6 * u.norm() else None
