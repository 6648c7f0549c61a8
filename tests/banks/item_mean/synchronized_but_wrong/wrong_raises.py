"""diagnosis: raised

A pair of brackets is missing: torch.tensor takes one list."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([1.0], [3.0])
