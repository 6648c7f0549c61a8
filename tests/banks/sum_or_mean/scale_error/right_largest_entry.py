"""The ratio at the reference's largest entry is the factor, if there is one."""

import torch


def scale_error(reference, update):
    if reference.shape != update.shape or not torch.isfinite(reference).all() or not torch.isfinite(update).all():
        return None
    r, u = reference.double().flatten(), update.double().flatten()
    place = r.abs().argmax()
    if r[place] == 0:
        return None
    c = float(u[place] / r[place])
    if torch.linalg.vector_norm(u - c * r) > 1e-6 * torch.linalg.vector_norm(u):
        c = float(torch.dot(u, r) / torch.dot(r, r))
        if torch.linalg.vector_norm(u - c * r) > 1e-6 * torch.linalg.vector_norm(u):
            return None
    return c
