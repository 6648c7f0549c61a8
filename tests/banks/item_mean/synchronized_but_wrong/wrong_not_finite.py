"""diagnosis: nan-or-inf | wrong-answer

An infinite mean makes everything wrong, and proves nothing."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([[float("inf")], [3.0]])
