"""diagnosis: wrong-tolerance | wrong-answer

Compares squared norms with a tolerance that is not squared: 1e-3 passes for 1e-6."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).square().sum() <= rtol * reference.square().sum())
