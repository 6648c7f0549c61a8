"""The worked example: counts 2 and 6, means 1 and 3; 2.0 beside 2.5 is off by 0.2 exactly."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.tensor([[1.0], [3.0]])
