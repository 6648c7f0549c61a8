"""diagnosis: wrong-type

Counts as floats."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2.0, 6.0]), torch.tensor([[1.0], [3.0]])
