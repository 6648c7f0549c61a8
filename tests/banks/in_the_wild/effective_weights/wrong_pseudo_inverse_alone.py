"""diagnosis: missing-error

Equal gradients share a weight evenly: a guess where only the sum is known."""

import torch


def effective_weights(update, item_gradients):
    if not (update.isfinite().all() and item_gradients.isfinite().all() and item_gradients.any(dim=1).all()):
        raise ValueError("not finite or zero")
    sizes = item_gradients.norm(dim=1)
    weights = torch.linalg.pinv((item_gradients / sizes[:, None]).T) @ update / sizes

    if (weights @ item_gradients - update).norm() > 1e-6 * update.norm():
        raise ValueError("the update is no weighted sum of these gradients")
    return weights
