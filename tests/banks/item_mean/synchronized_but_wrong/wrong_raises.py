"""diagnosis: raised

A typing error."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([[1.0], [3.0, 4.0]])
