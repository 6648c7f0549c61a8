"""diagnosis: missing-error

Least squares always gives an answer, also where there is none."""

import torch


def effective_weights(update, item_gradients):
    return torch.linalg.lstsq(item_gradients.T, update[:, None]).solution[:, 0]
