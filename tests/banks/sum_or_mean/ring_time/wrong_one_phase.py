"""diagnosis: wrong-answer

Half of the steps.
"""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError
    return (world_size - 1) * (startup + num_bytes / (world_size * bandwidth))
