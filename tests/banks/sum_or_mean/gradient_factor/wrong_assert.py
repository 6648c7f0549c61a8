"""diagnosis: wrong-exception

An assert raises an AssertionError, and nothing at all under `python -O`.
"""


def gradient_factor(loss_divisor, reduction, world_size):
    assert loss_divisor in ("global", "local") and reduction in ("sum", "mean") and world_size >= 1
    return {"sum": 1, "mean": 1 / world_size}[reduction] * {"global": 1, "local": world_size}[loss_divisor]
