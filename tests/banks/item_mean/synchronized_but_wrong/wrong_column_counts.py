"""diagnosis: wrong-shape

Counts [P, 1] instead of [P]."""

import torch


def synchronized_but_wrong():
    return torch.tensor([[2], [6]]), torch.tensor([[1.0], [3.0]])
