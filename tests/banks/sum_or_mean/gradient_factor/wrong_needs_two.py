"""diagnosis: unneeded-error

"One rank is no distributed training"; it is a row of the table, too.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size <= 1:
        raise ValueError
    return float(world_size) ** ((loss_divisor == "local") - (reduction == "mean"))
