"""diagnosis: wrong-type

A tensor, in float32 besides.
"""

import torch


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return torch.tensor(2 * (world_size - 1) * num_bytes) / world_size
