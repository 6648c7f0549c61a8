"""diagnosis: wrong-shape

Means [P] instead of [P, D]."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([1.0, 3.0])
