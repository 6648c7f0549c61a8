"""All chunks but one, twice, as a tensor."""

import torch


def ring_bytes(num_bytes, world_size):
    if not (num_bytes >= 0 <= world_size - 1):
        raise ValueError("arguments")
    chunks = torch.full((world_size,), num_bytes / world_size, dtype=torch.float64)
    return (chunks.sum() * 2 - chunks[0] * 2).item()
