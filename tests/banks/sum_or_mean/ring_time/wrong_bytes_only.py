"""diagnosis: wrong-answer

Bandwidth only: an empty payload would be free.
"""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError
    return 2 * (world_size - 1) / world_size * num_bytes / bandwidth
