"""diagnosis: not-implemented

The stub as it is handed out: nothing has been written yet.
"""


def gradient_factor(loss_divisor: str, reduction: str, world_size: int) -> float:
    """Return the factor that multiplies ∇L."""
    raise NotImplementedError()
