"""diagnosis: wrong-answer

Divides entry by entry: where both are zero, 0/0 is NaN and the answer becomes None.
"""


def scale_error(reference, update):
    if reference.shape != update.shape:
        return None
    ratio = (update.double() / reference.double()).flatten()
    spread = ratio.max() - ratio.min()
    return ratio.mean().item() if spread <= 2e-6 * ratio.abs().max() else None
