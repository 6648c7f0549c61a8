"""diagnosis: missing-error | wrong-exception

Computes with whatever comes.
"""


def ring_bytes(num_bytes, world_size):
    return 2 * (world_size - 1) * num_bytes / world_size
