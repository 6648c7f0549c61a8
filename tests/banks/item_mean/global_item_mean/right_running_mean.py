"""Merges one rank after the other into a running mean."""

import torch


def global_item_mean(counts, means):
    if any(count < 0 for count in counts) or not any(counts):
        raise ValueError("counts must be >= 0, and some > 0")
    seen, mean = 0, torch.zeros(means.shape[1], dtype=means.dtype)
    for count, local in zip(counts, means, strict=True):
        if count > 0:
            seen = seen + count
            mean = mean + (local - mean) * (count / seen)
    return mean
