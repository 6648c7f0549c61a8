"""Compares directions: sine of the angle from the difference of unit vectors; the factor from the norms."""


def scale_error(reference, update):
    if tuple(reference.shape) != tuple(update.shape):
        return None
    r, u = reference.double(), update.double()
    length, other = r.norm().item(), u.norm().item()
    if not (length < float("inf") and other < float("inf")) or length == 0:
        return None
    if other == 0:
        return 0.0
    sign = 1 if (r * u).sum() > 0 else -1
    if (u / other - sign * r / length).norm() > 1e-6:
        return None
    return sign * other / length
