"""diagnosis: wrong-tolerance | wrong-answer

Every element within rtol of its own size: a small element may be off by more."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool(((update - reference).abs() <= rtol * reference.abs()).all())
