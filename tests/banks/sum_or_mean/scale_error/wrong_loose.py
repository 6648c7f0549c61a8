"""diagnosis: wrong-tolerance

allclose with its default rtol of 10⁻⁵, and atol to help.
"""

import torch


def scale_error(reference, update):
    if reference.shape != update.shape or not (reference.isfinite().all() and update.isfinite().all()):
        return None
    r, u = reference.double(), update.double()
    if not r.any():
        return None
    c = ((r * u).sum() / (r * r).sum()).item()
    return c if torch.allclose(u, c * r, rtol=1e-3) else None
