"""Gives every item its rank's mean and takes the plain mean over items."""

import torch


def global_item_mean(counts, means):
    if (counts < 0).any():
        raise ValueError("negative count")
    if not counts.any():
        raise ValueError("no items")
    return torch.repeat_interleave(means, counts, dim=0).mean(dim=0)
