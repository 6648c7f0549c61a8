"""LU with pivots on the scaled Gram matrix, after a check of its eigenvalues."""

import torch


def effective_weights(update, item_gradients):
    if not (update.isfinite().all() and item_gradients.isfinite().all()):
        raise ValueError("a value is not finite")
    sizes = item_gradients.norm(dim=1)
    if (sizes == 0).any():
        raise ValueError("an item's gradient is zero")
    rows = item_gradients / sizes[:, None]
    if torch.linalg.eigvalsh(rows @ rows.T)[0] < 1e-12:
        raise ValueError("the gradients depend on each other")

    factors, pivots = torch.linalg.lu_factor(rows @ rows.T)
    weights = torch.linalg.lu_solve(factors, pivots, (rows @ update)[:, None]).squeeze(1) / sizes

    if (weights @ item_gradients - update).norm() > 1e-6 * update.norm():
        raise ValueError("the update is no weighted sum of these gradients")
    return weights
