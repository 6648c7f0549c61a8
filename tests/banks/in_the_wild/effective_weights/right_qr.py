"""QR of the scaled rows; the rank from their singular values."""

import torch


def effective_weights(update, item_gradients):
    if not torch.cat([update, item_gradients.flatten()]).isfinite().all():
        raise ValueError("NaN or Inf")
    sizes = torch.linalg.vector_norm(item_gradients, dim=1, keepdim=True)
    if not sizes.all():
        raise ValueError("a gradient is zero")
    q, r = torch.linalg.qr((item_gradients / sizes).T)
    singular = torch.linalg.svdvals(r)
    if singular[-1] < 1e-8 * singular[0]:
        raise ValueError("only sums of weights are known")
    scaled = torch.linalg.solve_triangular(r, (q.T @ update)[:, None], upper=True)
    if torch.dist(q @ (q.T @ update), update) > 1e-6 * update.norm():
        raise ValueError("a residual is left")
    return (scaled / sizes).squeeze(1)
