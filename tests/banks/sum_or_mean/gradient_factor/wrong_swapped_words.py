"""diagnosis: wrong-answer

"global" read as "with a global reduction": the two rows with a factor trade places with the right ones.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size < 1:
        raise ValueError
    matching = (loss_divisor == "global") == (reduction == "mean")
    return 1.0 if matching else float(world_size)
