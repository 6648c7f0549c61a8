"""diagnosis: wrong-answer

With equal means the counts do not matter."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([[3.0], [3.0]])
