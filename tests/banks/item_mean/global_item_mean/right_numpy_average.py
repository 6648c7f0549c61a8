"""numpy.average with weights, over the ranks that have items."""

import numpy as np
import torch


def global_item_mean(counts, means):
    n, m = counts.numpy(), means.detach().numpy()
    if (n < 0).any() or not n.any():
        raise ValueError(f"bad counts {n}")
    return torch.from_numpy(np.average(m[n > 0], axis=0, weights=n[n > 0]))
