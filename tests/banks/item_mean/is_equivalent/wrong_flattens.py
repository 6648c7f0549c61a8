"""diagnosis: wrong-answer | wrong-shape

Compares the numbers in a row, whatever the shapes are."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.numel() != update.numel() or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update.flatten() - reference.flatten()).norm() <= rtol * reference.norm())
