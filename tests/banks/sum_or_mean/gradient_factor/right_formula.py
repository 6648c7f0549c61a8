"""The factor c = B·ρ/d with B = P."""


def gradient_factor(loss_divisor, reduction, world_size):
    if loss_divisor not in ("global", "local") or reduction not in ("sum", "mean"):
        raise ValueError(f"unknown words: {loss_divisor!r}, {reduction!r}")
    if world_size < 1:
        raise ValueError(f"world_size must be at least 1, not {world_size}")
    divisor = world_size if loss_divisor == "global" else 1
    rho = 1 / world_size if reduction == "mean" else 1
    return world_size * rho / divisor
