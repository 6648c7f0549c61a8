"""Places in a tuple are exponents; `.index` raises the ValueError."""


def gradient_factor(loss_divisor, reduction, world_size):
    d = ("global", "local").index(loss_divisor)
    m = ("sum", "mean").index(reduction)
    if world_size < 1:
        raise ValueError
    return world_size ** (d - m)
