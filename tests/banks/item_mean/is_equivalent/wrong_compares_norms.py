"""diagnosis: wrong-answer | wrong-tolerance

Equal lengths, other directions."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update.norm() - reference.norm()).abs() <= rtol * reference.norm())
