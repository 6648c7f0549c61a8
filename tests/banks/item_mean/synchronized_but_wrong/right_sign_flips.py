"""The mean of the means points the other way."""

import torch


def synchronized_but_wrong():
    counts = torch.tensor([5, 1, 1], dtype=torch.int64)
    means = torch.tensor([[1.0, -2.0, 0.5], [-4.0, 8.0, -2.0], [-4.0, 8.0, -2.0]])
    return counts, means
