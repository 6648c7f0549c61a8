"""diagnosis: missing-error | wrong-exception

Computes with whatever comes, and a negative startup makes it faster.
"""


def ring_time(num_bytes, world_size, startup, bandwidth):
    return 2 * (world_size - 1) * (startup + num_bytes / (world_size * bandwidth))
