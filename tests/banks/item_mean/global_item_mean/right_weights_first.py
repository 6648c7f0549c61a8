"""Effective weight of a rank n_r/N first, then the weighted sum; einsum for the sum."""

import torch


class NoItems(ValueError):
    """A ValueError of one's own is a ValueError."""


def global_item_mean(counts, means):
    total = int(counts.sum())
    if bool((counts < 0).any()) or total == 0:
        raise NoItems(counts)
    share = (counts / total).to(means.dtype)
    return torch.einsum("p,pd->d", share[counts > 0], means[counts > 0])
