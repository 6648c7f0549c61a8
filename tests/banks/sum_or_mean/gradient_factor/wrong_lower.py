"""diagnosis: missing-error

Meant well: words in any case are accepted. The contract says exactly these words.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    loss_divisor, reduction = loss_divisor.strip().lower(), reduction.strip().lower()
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size < 1:
        raise ValueError
    return world_size ** ((loss_divisor == "local") - (reduction == "mean"))
