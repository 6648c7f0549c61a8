"""diagnosis: changed-its-argument

Subtracts into the caller's update."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    update -= reference
    return bool(update.norm() <= rtol * reference.norm())
