"""diagnosis: unneeded-error

Refuses an empty payload.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes <= 0 or world_size < 1:
        raise ValueError("nothing to send")
    return 2 * (world_size - 1) * num_bytes / world_size
