"""diagnosis: missing-error

One rank returns 0 before the link is looked at.
"""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if world_size == 1:
        return 0.0
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError
    return 2 * (world_size - 1) * (startup + num_bytes / (world_size * bandwidth))
