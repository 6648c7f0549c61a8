"""diagnosis: wrong-answer | nan-or-inf

`not (error > bound)` is True for NaN."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        return False
    return not bool((update - reference).norm() > rtol * reference.norm())
