"""∂ℓ/∂w = −∂ℓ/∂y: one backward pass gives the gradients of all targets at once."""

import torch


def squared_error_gradients(w, targets):
    y = targets.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad((0.5 * (w - y) ** 2).sum(), y)
    return -gradient
