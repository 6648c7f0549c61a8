"""diagnosis: rank-lost

range(P − 1) leaves the last rank out of the sum."""

import torch


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    total = torch.zeros_like(means[0])
    for rank in range(len(counts) - 1):
        if counts[rank] > 0:
            total += counts[rank] * means[rank]
    return total / counts.sum()
