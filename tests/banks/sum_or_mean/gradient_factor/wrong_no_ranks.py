"""diagnosis: missing-error | wrong-exception

With a global divisor and a sum the number of ranks plays no part, so nobody looks at it.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean"):
        raise ValueError
    if (loss_divisor, reduction) in (("global", "sum"), ("local", "mean")):
        return 1
    return 1 / world_size if reduction == "mean" else world_size
