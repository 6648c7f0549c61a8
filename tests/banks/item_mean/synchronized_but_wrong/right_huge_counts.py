"""Counts beyond 32 bits, tiny means."""

import torch


def synchronized_but_wrong():
    print("one rank has nearly everything")
    return torch.tensor([1, 2**33]), torch.tensor([[1e-3], [1e-9]], dtype=torch.float64)
