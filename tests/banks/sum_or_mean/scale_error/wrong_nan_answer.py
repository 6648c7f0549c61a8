"""diagnosis: should-be-none

0/0 for a zero reference gives NaN, which is a float and no None.
"""


def scale_error(reference, update):
    if reference.shape != update.shape:
        return None
    r, u = reference.double().flatten(), update.double().flatten()
    c = (r @ u / (r @ r)).item()
    return None if (u - c * r).norm() > 1e-6 * u.norm() else c
