"""diagnosis: overflow-or-truncation | unexplained | pure-scale | no-update

`//` between integer counts: every share below 1 becomes 0."""

import torch


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    share = counts // counts.sum()
    return torch.where(share[:, None] > 0, share[:, None] * means, torch.zeros_like(means)).sum(0)
