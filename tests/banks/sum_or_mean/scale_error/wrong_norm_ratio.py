"""diagnosis: wrong-answer | should-be-none

The ratio of the norms says nothing about directions.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    return (update.norm() / reference.norm()).item() if reference.any() else None
