"""diagnosis: unneeded-error | raised

Another shape is an answer (False), not an error."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape:
        raise ValueError("shapes differ")
    if not (update.isfinite().all() and reference.isfinite().all()):
        return False
    return bool((update - reference).norm() <= rtol * reference.norm())
