"""diagnosis: wrong-answer

What goes over the wire in both directions.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return 4 * (world_size - 1) * num_bytes / world_size
