"""Two unit vectors are parallel where their second singular value vanishes."""

import torch


def scale_error(reference, update):
    if reference.shape != update.shape:
        return None
    a = torch.stack([reference.reshape(-1), update.reshape(-1)]).double()
    if not torch.isfinite(a).all() or torch.equal(a[0], torch.zeros_like(a[0])):
        return None
    n = torch.linalg.norm(a, dim=1)
    if n[1] == 0:
        return 0.0
    b = a / n[:, None]
    s = torch.sign(b[0] @ b[1])
    if s == 0:
        return None
    q = torch.linalg.svdvals(torch.stack([b[0], s * b[1]]).T)
    if len(q) > 1 and q[1] * 2**0.5 > 1e-6:
        return None
    return float(s * n[1] / n[0])
