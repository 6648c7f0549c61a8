"""diagnosis: divided-by-world-size

Turns local means into local sums, and leaves the rest to DDP, which divides by P."""


def ddp_scale(local_count):
    return float(local_count)
