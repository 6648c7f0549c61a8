"""One item beside 99: the lone one decides half of the mean."""

import torch


def synchronized_but_wrong():
    return torch.tensor([1, 99]), torch.tensor([[100.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
