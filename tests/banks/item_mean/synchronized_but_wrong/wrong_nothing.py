"""diagnosis: wrong-type

Forgets to return."""

import torch


def synchronized_but_wrong():
    counts, means = torch.tensor([2, 6]), torch.tensor([[1.0], [3.0]])
    print(counts, means)
