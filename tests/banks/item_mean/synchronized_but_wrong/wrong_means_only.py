"""diagnosis: wrong-type | wrong-shape

One tensor where two are asked for."""

import torch


def synchronized_but_wrong():
    return torch.tensor([[1.0], [3.0]])
