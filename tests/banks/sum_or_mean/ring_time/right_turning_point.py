"""2(P − 1)·α·(1 + s/s*) with s* = Pαβ, where there is a startup."""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError("a cost is out of range")
    if startup == 0:
        return (2 - 2 / world_size) * num_bytes / bandwidth
    return 2 * (world_size - 1) * startup * (1 + num_bytes / (world_size * startup * bandwidth))
