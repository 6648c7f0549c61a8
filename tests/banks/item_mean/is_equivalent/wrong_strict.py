"""diagnosis: wrong-answer | wrong-tolerance

< instead of ≤: zero is not equivalent to zero."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() < rtol * reference.norm())
