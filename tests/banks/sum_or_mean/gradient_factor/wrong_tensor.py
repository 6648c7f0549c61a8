"""diagnosis: wrong-type

A tensor where a number is asked.
"""

import torch


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean") or world_size < 1:
        raise ValueError
    exponent = (loss_divisor == "local") - (reduction == "mean")
    return torch.tensor(float(world_size)) ** exponent
