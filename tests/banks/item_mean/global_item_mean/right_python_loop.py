"""Adds up rank by rank."""

import torch


def global_item_mean(counts, means):
    total, number = torch.zeros_like(means[0]), 0
    for count, mean in zip(counts.tolist(), means, strict=True):
        if count < 0:
            raise ValueError(f"negative count {count}")
        if count:
            total = total + count * mean
            number += count
    if number == 0:
        raise ValueError("all counts are 0")
    return total / number
