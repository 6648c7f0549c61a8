"""Plain Python over the entries, with exact sums."""

import math


def scale_error(reference, update):
    if reference.shape != update.shape:
        return None
    r, u = reference.flatten().tolist(), update.flatten().tolist()
    if not all(map(math.isfinite, r + u)):
        return None
    square = math.fsum(x * x for x in r)
    if square == 0:
        return None
    c = math.fsum(x * y for x, y in zip(r, u, strict=True)) / square
    away = math.sqrt(math.fsum((y - c * x) ** 2 for x, y in zip(r, u, strict=True)))
    return c if away <= 1e-6 * math.sqrt(math.fsum(y * y for y in u)) else None
