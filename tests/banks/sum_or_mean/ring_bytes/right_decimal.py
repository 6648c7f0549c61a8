"""Decimals with many digits."""

from decimal import Decimal


def ring_bytes(num_bytes, world_size):
    if not (num_bytes >= 0 and world_size >= 1):
        raise ValueError((num_bytes, world_size))
    return float(Decimal(num_bytes) * 2 * (world_size - 1) / Decimal(world_size))
