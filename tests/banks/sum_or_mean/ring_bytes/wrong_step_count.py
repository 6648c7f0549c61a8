"""diagnosis: wrong-answer

P steps per phase instead of P − 1.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return 2 * world_size * num_bytes / world_size
