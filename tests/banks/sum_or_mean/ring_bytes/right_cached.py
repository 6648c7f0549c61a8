"""A cached answer, and a cached helper that calls itself."""

import functools


@functools.cache
def phases(count):
    return 0 if count == 0 else 1 + phases(count - 1)


@functools.lru_cache(maxsize=8)
def ring_bytes(num_bytes, world_size):
    if num_bytes < 0 or world_size < 1:
        raise ValueError("no such ring")
    return phases(2) * (world_size - 1) * num_bytes / world_size
