"""diagnosis: unneeded-error | wrong-answer

Normal equations without scaling: sizes over eight orders become sixteen, and rounding decides what comes out."""

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

    weights = torch.linalg.lstsq(item_gradients @ item_gradients.T, (item_gradients @ update)[:, None]).solution[:, 0]

    if (weights @ item_gradients - update).norm() > 1e-6 * update.norm():
        raise ValueError("the update is no weighted sum of these gradients")
    return weights
