"""diagnosis: overflow-or-truncation

Rounds the result to whole bytes.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return round(2 * (world_size - 1) / world_size * num_bytes)
