"""diagnosis: wrong-answer | nan-or-inf

Divides by the reference's norm: 0/0 is NaN, and a zero update is refused."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() / reference.norm() <= rtol)
