"""NumPy, and a tensor at the end."""

import numpy as np
import torch


def effective_weights(update, item_gradients):
    u, g = update.numpy(), item_gradients.numpy()
    if not (np.isfinite(u).all() and np.isfinite(g).all()):
        raise ValueError("a value is not finite")
    sizes = np.linalg.norm(g, axis=1)
    if sizes.min() == 0:
        raise ValueError("a gradient is zero")
    rows = g / sizes[:, None]
    scaled, _, rank, _ = np.linalg.lstsq(rows.T, u, rcond=1e-9)
    if rank < len(g):
        raise ValueError("the rank is too small")
    if np.linalg.norm(scaled @ rows - u) > 1e-6 * np.linalg.norm(u):
        raise ValueError("a residual is left")
    return torch.from_numpy(scaled / sizes)
