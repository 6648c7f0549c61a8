"""diagnosis: wrong-answer | wrong-tolerance

"A zero reference has nothing to compare with", so anything passes."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    if reference.norm() == 0:
        return True
    return bool((update - reference).norm() <= rtol * reference.norm())
