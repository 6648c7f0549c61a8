"""diagnosis: argument-order | wrong-type | wrong-shape

(means, counts)."""

import torch


def synchronized_but_wrong():
    return torch.tensor([[1.0], [3.0]]), torch.tensor([2, 6])
