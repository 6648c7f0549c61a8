"""Plain Python numbers."""

import torch


def squared_error_gradients(w, targets):
    return torch.tensor([float(w) - y for y in targets.tolist()], dtype=targets.dtype)
