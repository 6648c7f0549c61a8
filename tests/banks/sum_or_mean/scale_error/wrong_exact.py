"""diagnosis: wrong-tolerance | wrong-answer

Equal to the last bit: rounding makes every update unexplained.
"""

import torch


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    if not reference.any():
        return None
    c = ((reference * update).sum() / (reference * reference).sum()).item()
    return c if torch.equal(update, c * reference) else None
