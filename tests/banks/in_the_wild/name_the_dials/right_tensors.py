"""Three tensors with one entry for each item; the dials multiply."""

from itertools import product

import torch


def name_the_dials(weights, window):
    micro = torch.tensor([float(n) for row in window.counts for n in row for _ in range(n)], dtype=torch.float64)
    rank = torch.tensor([float(sum(row)) for row in window.counts for n in row for _ in range(n)], dtype=torch.float64)
    steps = torch.tensor([float(len(row)) for row in window.counts for n in row for _ in range(n)], dtype=torch.float64)
    one = torch.ones_like(micro)
    divisors = {"nothing": one, "microbatch": micro, "rank": rank, "window": one * len(micro)}
    for names in product(divisors, ("sum", "mean"), ("sum", "mean")):
        below = divisors[names[0]] * (steps if names[1] == "mean" else one)
        below = below * (len(window.counts) if names[2] == "mean" else 1)
        if bool(((weights * below - 1).abs() < 1e-6).all()):
            return names
    raise ValueError("none fits")
