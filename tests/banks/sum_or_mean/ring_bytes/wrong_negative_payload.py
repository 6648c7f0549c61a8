"""diagnosis: missing-error

Looks at the ranks only; a negative payload gives negative bytes.
"""


def ring_bytes(num_bytes, world_size):
    if world_size < 1:
        raise ValueError("no ranks")
    return 2 * num_bytes * (world_size - 1) / world_size
