"""diagnosis: should-be-none

The best factor always exists; whether it is good enough nobody asks.
"""


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    square = (reference * reference).sum()
    return ((reference * update).sum() / square).item() if square else None
