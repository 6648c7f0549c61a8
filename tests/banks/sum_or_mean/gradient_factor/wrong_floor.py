"""diagnosis: wrong-answer

An integer division turns 1/P into 0.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size < 1:
        raise ValueError
    if reduction == "sum":
        return 1 if loss_divisor == "global" else world_size
    return 1 // world_size if loss_divisor == "global" else 1
