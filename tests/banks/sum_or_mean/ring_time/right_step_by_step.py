"""Adds the time of each step."""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if min(num_bytes, startup) < 0 or world_size < 1 or not bandwidth > 0:
        raise ValueError("out of range")
    return sum(startup + num_bytes / world_size / bandwidth for _ in range(2 * world_size - 2))
