"""diagnosis: wrong-type

The factor is still a tensor.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    if not reference.any():
        return None
    c = (reference * update).sum() / (reference * reference).sum()
    return c if (update - c * reference).norm() <= 1e-6 * update.norm() else None
