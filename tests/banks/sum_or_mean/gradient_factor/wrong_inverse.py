"""diagnosis: wrong-answer

The factor that would repair the update instead of the one it has.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size < 1:
        raise ValueError
    if loss_divisor == "global":
        return 1 if reduction == "sum" else world_size
    return 1 if reduction == "mean" else 1 / world_size
