"""diagnosis: unneeded-error

The rank of gradients of very different sizes: small ones look like nothing."""

import torch


def effective_weights(update, item_gradients):
    if not (update.isfinite().all() and item_gradients.isfinite().all()) or not item_gradients.any(dim=1).all():
        raise ValueError("not finite or zero")
    if torch.linalg.matrix_rank(item_gradients, rtol=1e-6) < len(item_gradients):
        raise ValueError("the gradients depend on each other")
    sizes = item_gradients.norm(dim=1)
    weights = torch.linalg.lstsq((item_gradients / sizes[:, None]).T, update[:, None]).solution[:, 0] / sizes

    if (weights @ item_gradients - update).norm() > 1e-6 * update.norm():
        raise ValueError("the update is no weighted sum of these gradients")
    return weights
