"""One backward pass per item, on a copy of w."""

import torch


def squared_error_gradients(w, targets):
    gradients = []
    for y in targets:
        weight = w.detach().clone().requires_grad_()
        (0.5 * (weight - y) ** 2).backward()
        gradients.append(weight.grad)
    return torch.stack(gradients) if gradients else torch.zeros_like(targets)
