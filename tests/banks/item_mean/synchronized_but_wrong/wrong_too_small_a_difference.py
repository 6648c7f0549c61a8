"""diagnosis: wrong-answer | wrong-tolerance

Different, but by 10 % only."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 3]), torch.tensor([[1.0], [3.0]])
