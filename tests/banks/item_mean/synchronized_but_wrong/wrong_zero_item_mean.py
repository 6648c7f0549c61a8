"""diagnosis: wrong-answer

The item mean is zero, so no share of it can be off."""

import torch


def synchronized_but_wrong():
    return torch.tensor([1, 3]), torch.tensor([[3.0], [-1.0]])
