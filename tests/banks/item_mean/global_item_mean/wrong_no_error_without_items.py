"""diagnosis: missing-error

All counts 0 gives a quiet zero."""

import torch


def global_item_mean(counts, means):
    if (counts < 0).any():
        raise ValueError("negative")
    some = counts > 0
    if not some.any():
        return torch.zeros_like(means[0])
    return (counts[some, None] * means[some]).sum(0) / counts.sum()
