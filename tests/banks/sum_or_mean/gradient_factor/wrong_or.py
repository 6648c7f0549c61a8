"""diagnosis: missing-error

`x == "a" or "b"` is always true: every word is accepted.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor == "global" or "local":
        if reduction == "sum" or "mean":
            if world_size >= 1:
                c = 1.0 if loss_divisor == "global" else world_size
                return c if reduction == "sum" else c / world_size
    raise ValueError
