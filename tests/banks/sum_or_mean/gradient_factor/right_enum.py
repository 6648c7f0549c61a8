"""Enums refuse other words by a ValueError."""

import enum


class Divisor(enum.Enum):
    GLOBAL = "global"
    LOCAL = "local"


class Reduction(enum.Enum):
    SUM = "sum"
    MEAN = "mean"


def gradient_factor(loss_divisor, reduction, world_size):
    divisor, reduction = Divisor(loss_divisor), Reduction(reduction)
    if not world_size >= 1:
        raise ValueError("ranks")
    return (1 if divisor is Divisor.GLOBAL else world_size) * (1 if reduction is Reduction.SUM else 1 / world_size)
