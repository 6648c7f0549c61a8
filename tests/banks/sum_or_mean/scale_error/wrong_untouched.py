"""diagnosis: not-implemented

The stub as it is handed out: it compares nothing.
"""

import torch


def scale_error(reference: torch.Tensor, update: torch.Tensor) -> float | None:
    """Return c with update = c · reference, or None."""
    raise NotImplementedError()
