"""diagnosis: wrong-answer | wrong-shape

D = 0: nothing to be wrong about."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6]), torch.zeros(2, 0)
