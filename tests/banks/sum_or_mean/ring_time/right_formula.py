"""2(P − 1)(α + s/(Pβ))."""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError((num_bytes, world_size, startup, bandwidth))
    return 2 * (world_size - 1) * (startup + num_bytes / (world_size * bandwidth))
