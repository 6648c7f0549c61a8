"""diagnosis: wrong-answer

An empty payload returns at once; the ring still walks its steps.
"""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError
    if num_bytes == 0:
        return 0.0
    return 2 * (world_size - 1) * (startup + num_bytes / (world_size * bandwidth))
