"""diagnosis: wrong-answer

Only the reduce-scatter.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return (world_size - 1) * num_bytes / world_size
