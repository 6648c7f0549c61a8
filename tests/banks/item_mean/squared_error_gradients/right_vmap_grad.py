"""torch.func: the gradient of one loss, mapped over the targets."""

import torch


def loss(w, y):
    return (w - y) ** 2 / 2


def squared_error_gradients(w, targets):
    if not len(targets):  # on an empty rank, from sgd_step; vmap maps nothing
        return torch.zeros_like(targets)
    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, targets)
