"""diagnosis: wrong-answer

Looks at the reduction and forgets what the loss was divided by.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size < 1:
        raise ValueError
    return world_size if reduction == "sum" else 1
