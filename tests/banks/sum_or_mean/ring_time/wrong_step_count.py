"""diagnosis: wrong-answer

2P steps: one rank alone would take time.
"""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError
    return 2 * world_size * (startup + num_bytes / (world_size * bandwidth))
