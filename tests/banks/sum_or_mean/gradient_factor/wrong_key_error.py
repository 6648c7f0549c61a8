"""diagnosis: wrong-exception

A dictionary answers an unknown word with a KeyError, which is no ValueError.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    if world_size < 1:
        raise ValueError("world_size")
    rows = {"global": {"sum": 1, "mean": 1 / world_size}, "local": {"sum": world_size, "mean": 1}}
    return rows[loss_divisor][reduction]
