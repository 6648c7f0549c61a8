"""diagnosis: mean-of-rank-means

Every rank counts the same, an empty one as zero."""

import torch


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    return torch.where(counts[:, None] > 0, means, torch.zeros_like(means)).mean(0)
