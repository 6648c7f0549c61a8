"""diagnosis: pure-scale

Normalises the weights: a factor on all of them, the very thing to look for, is gone."""

import torch


def effective_weights(update, item_gradients):
    if not (update.isfinite().all() and item_gradients.isfinite().all()):
        raise ValueError("a value is not finite")
    sizes = item_gradients.norm(dim=1)
    if (sizes == 0).any():
        raise ValueError("an item's gradient is zero")
    rows = item_gradients / sizes[:, None]
    if torch.linalg.matrix_rank(rows, rtol=1e-9) < len(rows):
        raise ValueError("the gradients depend on each other")
    weights = torch.linalg.lstsq(rows.T, update[:, None]).solution[:, 0] / sizes

    if (weights @ item_gradients - update).norm() > 1e-6 * update.norm():
        raise ValueError("a residual is left")
    return weights / weights.sum()
