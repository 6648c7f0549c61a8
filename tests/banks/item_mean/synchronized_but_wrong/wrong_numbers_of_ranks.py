"""diagnosis: wrong-shape

Three counts, two means."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6, 1]), torch.tensor([[1.0], [3.0]])
