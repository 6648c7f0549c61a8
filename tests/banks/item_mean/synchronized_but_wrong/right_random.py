"""Draws until it finds one."""

import torch


def synchronized_but_wrong():
    generator = torch.Generator().manual_seed(0)
    while True:
        counts = torch.randint(1, 100, (4,), generator=generator)
        means = torch.randn(4, 3, generator=generator, dtype=torch.float64)
        right = (counts[:, None] * means).sum(0) / counts.sum()
        if (means.mean(0) - right).norm() > 0.3 * right.norm() > 0:
            return counts, means
