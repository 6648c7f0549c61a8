"""diagnosis: wrong-answer | wrong-shape | raised

No look at shapes: [1, D] and [D] broadcast, others raise."""


def is_equivalent(reference, update, rtol=1e-6):
    if not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() <= rtol * reference.norm())
