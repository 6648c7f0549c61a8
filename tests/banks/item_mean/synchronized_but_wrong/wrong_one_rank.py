"""diagnosis: wrong-answer | wrong-shape

One rank alone cannot disagree with itself."""

import torch


def synchronized_but_wrong():
    return torch.tensor([6]), torch.tensor([[3.0]])
