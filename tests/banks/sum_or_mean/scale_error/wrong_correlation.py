"""diagnosis: should-be-none

A correlation of 1 says that the update lies on a straight line, which need not pass through 0.
"""

import numpy as np


def scale_error(reference, update):
    if (
        reference.shape != update.shape
        or not (reference.isfinite().all() and update.isfinite().all())
        or not reference.any()
    ):
        return None
    r, u = reference.double().flatten().numpy(), update.double().flatten().numpy()
    if not u.any():
        return 0.0
    if len(r) == 1:
        return float(u[0] / r[0])
    k = np.corrcoef(r, u)[0, 1]
    return float(np.sign(k) * u.std() / r.std()) if abs(k) > 1 - 1e-12 else None
