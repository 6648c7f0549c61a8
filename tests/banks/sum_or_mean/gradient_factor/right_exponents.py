"""Each word moves the exponent of P by one."""

EXPONENTS = {"global": 0, "local": 1, "sum": 0, "mean": -1}


class FactorError(ValueError):
    """What is wrong with a row."""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ["global", "local"]:
        raise FactorError(loss_divisor)
    if reduction not in ["sum", "mean"]:
        raise FactorError(reduction)
    if world_size < 1:
        raise FactorError("world_size")
    return float(world_size) ** (EXPONENTS[loss_divisor] + EXPONENTS[reduction])
