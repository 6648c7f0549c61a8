"""torch.linalg.lstsq finds the factor."""

import torch


def scale_error(reference, update):
    if reference.size() != update.size():
        return None
    both = torch.stack([reference.double().flatten(), update.double().flatten()])
    if not both.isfinite().all() or both[0].count_nonzero() == 0:
        return None
    c = torch.linalg.lstsq(both[0][:, None], both[1][:, None]).solution.item()
    return None if (both[1] - c * both[0]).norm() > 1e-6 * both[1].norm() else c
