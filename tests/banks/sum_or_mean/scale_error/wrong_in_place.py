"""diagnosis: changed-its-argument

Subtracts in place: the caller's update is now a rest.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    if not reference.any():
        return None
    length = update.norm().item()
    c = ((reference * update).sum() / (reference * reference).sum()).item()
    update -= c * reference
    return c if update.norm().item() <= 1e-6 * length else None
