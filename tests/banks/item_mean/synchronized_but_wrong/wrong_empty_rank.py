"""diagnosis: wrong-answer

A rank without items: the contract asks for counts of at least 1."""

import torch


def synchronized_but_wrong():
    return torch.tensor([0, 6]), torch.tensor([[1.0], [3.0]])
