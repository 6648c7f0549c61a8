"""diagnosis: rank-lost | unexplained

`break` where `continue` was meant: ranks behind an empty one are lost."""

import torch


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    total = torch.zeros_like(means[0])
    for count, mean in zip(counts, means, strict=True):
        if count == 0:
            break
        total += count * mean
    return total / counts.sum()
