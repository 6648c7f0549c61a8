"""diagnosis: wrong-type

Counts in int32, where int64 is asked for."""

import torch


def synchronized_but_wrong():
    return torch.tensor([2, 6], dtype=torch.int32), torch.tensor([[1.0], [3.0]])
