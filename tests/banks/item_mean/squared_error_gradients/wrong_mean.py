"""diagnosis: wrong-shape

One number for all items: backward of the mean loss, when gradients per item were asked for."""

import torch


def squared_error_gradients(w, targets):
    weight = w.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad((0.5 * (weight - targets) ** 2).mean(), weight)
    return gradient
