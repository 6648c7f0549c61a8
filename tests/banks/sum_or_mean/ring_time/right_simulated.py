"""A clock for each rank, step by step."""


def ring_time(num_bytes, world_size, startup, bandwidth):
    if num_bytes < 0 or world_size < 1 or startup < 0 or bandwidth <= 0:
        raise ValueError
    clock = [0.0] * world_size
    for _ in range(2 * (world_size - 1)):
        sent = [t + startup + num_bytes / world_size / bandwidth for t in clock]
        clock = [max(sent[r], sent[r - 1]) for r in range(world_size)]
    return max(clock)
