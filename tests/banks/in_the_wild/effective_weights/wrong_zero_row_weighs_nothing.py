"""diagnosis: missing-error

An item whose gradient is zero may have weighed anything: no update can tell."""

import torch


def effective_weights(update, item_gradients):
    if not (update.isfinite().all() and item_gradients.isfinite().all()):
        raise ValueError("a value is not finite")
    sizes = item_gradients.norm(dim=1)
    some = sizes > 0
    rows = item_gradients[some] / sizes[some, None]
    if torch.linalg.matrix_rank(rows, rtol=1e-9) < len(rows):
        raise ValueError("the gradients depend on each other")
    weights = torch.zeros_like(sizes)
    weights[some] = torch.linalg.lstsq(rows.T, update[:, None]).solution[:, 0] / sizes[some]

    if (weights @ item_gradients - update).norm() > 1e-6 * update.norm():
        raise ValueError("the update is no weighted sum of these gradients")
    return weights
