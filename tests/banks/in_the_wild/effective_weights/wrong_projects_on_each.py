"""diagnosis: wrong-answer

The share of each gradient alone: what two have in common counts twice."""

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

    left = torch.linalg.lstsq(rows.T, update[:, None]).solution[:, 0] @ rows - update
    if left.norm() > 1e-6 * update.norm():
        raise ValueError("a residual is left")
    return item_gradients @ update / sizes.square()
