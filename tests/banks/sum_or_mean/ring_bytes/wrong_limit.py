"""diagnosis: wrong-answer

The limit for many ranks.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return 2.0 * num_bytes if world_size > 1 else 0.0
