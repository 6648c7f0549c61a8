"""diagnosis: wrong-answer

"Globally normalised" sounds right under any reduction; then a mean over ranks divides once more.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size < 1:
        raise ValueError
    return world_size if (loss_divisor, reduction) == ("local", "sum") else 1
