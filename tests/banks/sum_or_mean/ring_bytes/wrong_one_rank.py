"""diagnosis: unneeded-error

Refuses one rank, though it is a fine (and cheap) case.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size <= 1:
        raise ValueError("a ring needs two ranks")
    return 2 * (world_size - 1) * num_bytes / world_size
