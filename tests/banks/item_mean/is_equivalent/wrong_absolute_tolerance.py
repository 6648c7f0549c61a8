"""diagnosis: wrong-tolerance | wrong-answer

rtol without the reference's size: an absolute tolerance."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() <= rtol)
