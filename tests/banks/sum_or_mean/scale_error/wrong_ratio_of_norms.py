"""diagnosis: should-be-none | wrong-answer | wrong-tolerance

The ratio of the norms says nothing of the direction."""


def scale_error(reference, update):
    if reference.shape != update.shape or not reference.any():
        return None
    if not (reference.isfinite().all() and update.isfinite().all()):
        return None
    return (update.norm() / reference.norm()).item()
