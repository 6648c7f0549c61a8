"""Exact fractions, made a float at the end."""

from fractions import Fraction


def ring_time(num_bytes, world_size, startup, bandwidth):
    if bandwidth <= 0 or startup < 0:
        raise ValueError("link")
    if world_size < 1 or num_bytes < 0:
        raise ValueError("payload or ranks")
    step = Fraction(startup) + Fraction(num_bytes) / world_size / Fraction(bandwidth)
    return float(2 * (world_size - 1) * step)
