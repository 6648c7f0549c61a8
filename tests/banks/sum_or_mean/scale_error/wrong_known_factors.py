"""diagnosis: wrong-answer

Tries the factors that were seen before.
"""



def scale_error(reference, update):
    if (
        reference.shape != update.shape
        or not (reference.isfinite().all() and update.isfinite().all())
        or not reference.any()
    ):
        return None
    for c in (0.0, 1.0, -1.0, 0.5, 2.0, 1 / 8, 8.0, 1 / 4, 4.0):
        if (update - c * reference).norm() <= 1e-6 * update.norm():
            return c
    return None
