"""diagnosis: wrong-answer

What all ranks send together, not each of them.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return float(2 * (world_size - 1) * num_bytes)
