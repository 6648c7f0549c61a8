"""diagnosis: missing-error

Everything that is not "sum" is taken for a mean, and everything that is not "global" for local.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if world_size < 1:
        raise ValueError("world_size")
    factor = 1 if loss_divisor == "global" else world_size
    return factor if reduction == "sum" else factor / world_size
