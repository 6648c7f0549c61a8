"""diagnosis: wrong-answer

The ring that passes whole tensors on, (P − 1)·s.
"""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    return float((world_size - 1) * num_bytes)
