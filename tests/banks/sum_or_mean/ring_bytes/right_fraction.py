"""Exact fractions, made a float at the end."""

from fractions import Fraction


def ring_bytes(num_bytes, world_size):
    if world_size < 1:
        raise ValueError("world_size must be at least 1")
    if num_bytes < 0:
        raise ValueError("num_bytes must not be negative")
    return float(2 * num_bytes * (1 - Fraction(1, world_size)))
