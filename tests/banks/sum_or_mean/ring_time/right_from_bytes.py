"""Startups of all steps, and all bytes of a rank over the bandwidth."""


def ring_time(num_bytes, world_size, startup, bandwidth):
    for name, bad in {
        "num_bytes": num_bytes < 0,
        "world_size": world_size < 1,
        "startup": startup < 0,
        "bandwidth": bandwidth <= 0,
    }.items():
        if bad:
            raise ValueError(f"{name} is out of range")
    sent = 2 * num_bytes * (world_size - 1) / world_size
    return 2 * (world_size - 1) * startup + sent / bandwidth
