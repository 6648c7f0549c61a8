"""The item mean as a gradient: d/ds of Σ n_r ⟨s, mean_r⟩ / N at s = 0."""

import torch


def global_item_mean(counts, means):
    if counts.min() < 0 or counts.max() == 0:
        raise ValueError("counts")
    s = torch.zeros(means.shape[1], dtype=means.dtype, requires_grad=True)
    pieces = [int(n) * (s * m).sum() for n, m in zip(counts, means, strict=True) if n > 0]
    (torch.stack(pieces).sum() / counts.sum()).backward()
    return s.grad
