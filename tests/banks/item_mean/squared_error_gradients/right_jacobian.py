"""Autograd: the Jacobian of the vector of losses with respect to w."""

import torch


def squared_error_gradients(w, targets):
    if not len(targets):  # on an empty rank, from sgd_step; jacobian stacks nothing
        return torch.zeros_like(targets)
    return torch.autograd.functional.jacobian(lambda w: 0.5 * (w - targets) ** 2, w)
