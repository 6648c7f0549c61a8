"""Adds one chunk per step, two phases."""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError
    chunk, sent = num_bytes / world_size, 0.0
    for _phase in ("reduce-scatter", "all-gather"):
        for _step in range(world_size - 1):
            sent += chunk
    return sent
