"""diagnosis: wrong-answer

Startup and bytes at the same time: the larger of the two.
"""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError
    return 2 * (world_size - 1) * max(startup, num_bytes / world_size / bandwidth)
