"""A match statement with guards."""


def gradient_factor(loss_divisor, reduction, world_size):
    if world_size < 1:
        raise ValueError(world_size)
    match loss_divisor, reduction:
        case ("global", "sum") | ("local", "mean"):
            return 1.0
        case ("global", "mean"):
            return world_size**-1
        case ("local", "sum"):
            return float(world_size)
        case _:
            raise ValueError((loss_divisor, reduction))
