"""diagnosis: nan-or-inf | wrong-answer

NaN compares with nothing."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([[float("nan")], [3.0]])
