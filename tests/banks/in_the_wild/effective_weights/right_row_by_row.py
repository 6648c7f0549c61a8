"""Gram-Schmidt by hand, twice for accuracy; a row of which nothing is left depends on others."""

import torch


def effective_weights(update, item_gradients):
    if not (torch.isfinite(update).all() and torch.isfinite(item_gradients).all()):
        raise ValueError("a value is not finite")
    units, parts = [], []
    for row in item_gradients:
        if not row.any():
            raise ValueError("a gradient is zero")
        row = row / row.norm()
        along, left = torch.zeros(len(item_gradients), dtype=row.dtype), row
        for _ in range(2):
            for place, unit in enumerate(units):
                share = left @ unit
                along[place] += share
                left = left - share * unit
        if left.norm() < 1e-8:
            raise ValueError("a gradient depends on those before")
        along[len(units)] = left.norm()
        units.append(left / left.norm())
        parts.append(along)
    coefficients = [unit @ update for unit in units]
    rest = update - sum(c * unit for c, unit in zip(coefficients, units, strict=True))
    if rest.norm() > 1e-6 * update.norm():
        raise ValueError("something of the update is left")
    weights = torch.zeros(len(units), dtype=update.dtype)
    for place in reversed(range(len(units))):
        later = sum(parts[j][place] * weights[j] for j in range(place + 1, len(units)))
        weights[place] = (coefficients[place] - later) / parts[place][place]
    return weights / item_gradients.norm(dim=1)
