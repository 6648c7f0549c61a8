"""diagnosis: wrong-tolerance | wrong-answer

A small number against division by zero hides small references, and zero ones."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() / (reference.norm() + 1e-4) <= rtol)
