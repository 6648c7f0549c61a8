"""diagnosis: wrong-answer

Bits: networks are sold in them.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return 2 * (world_size - 1) * num_bytes / world_size * 8
