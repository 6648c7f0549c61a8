"""2(P − 1)s/P."""


def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError(f"num_bytes = {num_bytes}, world_size = {world_size}")
    return 2 * (world_size - 1) * num_bytes / world_size
