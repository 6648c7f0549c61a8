"""diagnosis: wrong-answer

The ratio of the means: 0/0 where the entries of the reference sum to 0.
"""



def scale_error(reference, update):
    if (
        reference.shape != update.shape
        or not (reference.isfinite().all() and update.isfinite().all())
        or not reference.any()
    ):
        return None
    c = (update.mean() / reference.mean()).item()
    return None if (update - c * reference).norm() > 1e-6 * update.norm() else c
