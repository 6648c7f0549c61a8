"""A table of the four rows; a missing row is a ValueError."""


def gradient_factor(loss_divisor, reduction, world_size):
    if world_size < 1:
        raise ValueError("no ranks")
    table = {
        ("global", "sum"): 1,
        ("local", "mean"): 1,
        ("global", "mean"): 1 / world_size,
        ("local", "sum"): world_size,
    }
    try:
        return table[loss_divisor, reduction]
    except KeyError:
        raise ValueError(f"no row {loss_divisor!r}, {reduction!r}") from None
