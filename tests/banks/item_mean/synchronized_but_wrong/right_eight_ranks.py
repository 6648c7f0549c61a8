"""Eight ranks; only the last has many items."""

import torch


def synchronized_but_wrong():
    counts = torch.ones(8, dtype=torch.long)
    counts[-1] = 1000
    return counts, torch.arange(40.0).reshape(8, 5)
