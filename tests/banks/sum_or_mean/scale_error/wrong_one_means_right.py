"""diagnosis: wrong-answer

Says only whether the update is right.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    return 1.0 if (update - reference).norm() <= 1e-6 * reference.norm() and reference.any() else None
