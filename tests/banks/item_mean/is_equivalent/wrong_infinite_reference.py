"""diagnosis: wrong-answer | nan-or-inf

Looks at the update only: everything is small beside an infinite reference."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not update.isfinite().all():
        return False
    return bool((update - reference).norm() <= rtol * reference.norm())
