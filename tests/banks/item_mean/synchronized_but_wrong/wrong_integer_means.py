"""diagnosis: wrong-type

Means as whole numbers."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([[1], [3]])
