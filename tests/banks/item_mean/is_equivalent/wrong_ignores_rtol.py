"""diagnosis: wrong-tolerance | wrong-answer

Has the argument and does not use it."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() <= 1e-6 * reference.norm())
