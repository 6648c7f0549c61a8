"""The best factor in float64, then its residual."""


def scale_error(reference, update):
    if reference.shape != update.shape:
        return None
    r, u = reference.detach().double().flatten(), update.detach().double().flatten()
    if not (r.isfinite().all() and u.isfinite().all()) or not r.any():
        return None
    c = (r @ u / (r @ r)).item()
    return c if (u - c * r).norm() <= 1e-6 * u.norm() else None
