"""diagnosis: overflow-or-truncation

Chunks rounded up to whole bytes.
"""

import math


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return 2 * (world_size - 1) * math.ceil(num_bytes / world_size)
