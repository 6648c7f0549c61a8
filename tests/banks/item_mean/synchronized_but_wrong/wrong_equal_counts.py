"""diagnosis: wrong-answer

With equal counts the two means agree."""

import torch


def synchronized_but_wrong():
    return torch.tensor([4, 4]), torch.tensor([[1.0], [3.0]])
