"""diagnosis: raised

Takes two arguments only."""


def is_equivalent(reference, update):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() <= 1e-6 * reference.norm())
