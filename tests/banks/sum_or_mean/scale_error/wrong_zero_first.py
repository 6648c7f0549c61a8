"""diagnosis: should-be-none

A zero update is 0.0 before anybody looks at the reference.
"""



def scale_error(reference, update):
    if not update.any():
        return 0.0
    if (
        reference.shape != update.shape
        or not (reference.isfinite().all() and update.isfinite().all())
        or not reference.any()
    ):
        return None
    c = (reference.flatten() @ update.flatten() / reference.norm() ** 2).item()
    return None if (update - c * reference).norm() > 1e-6 * update.norm() else c
