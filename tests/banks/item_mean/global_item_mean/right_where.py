"""Masks ranks without items before multiplying: 0 · NaN would be NaN."""

import torch


def global_item_mean(counts, means):
    if (counts < 0).any() or counts.sum() == 0:
        raise ValueError(f"counts must be >= 0 and not all 0, got {counts.tolist()}")
    sums = torch.where(counts[:, None] > 0, counts[:, None] * means, torch.zeros_like(means))
    return sums.sum(0) / counts.sum()
