"""diagnosis: wrong-tolerance | wrong-answer | overflow-or-truncation

Half precision sees no difference of a thousandth."""


def is_equivalent(reference, update, rtol=1e-6):
    if reference.shape != update.shape or not (update.isfinite().all() and reference.isfinite().all()):
        return False
    a, b = reference.half().float(), update.half().float()
    return bool((a - b).norm() <= rtol * a.norm())
