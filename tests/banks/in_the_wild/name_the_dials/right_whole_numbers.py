"""1/w is a product of whole numbers: look which factors are in it."""

import torch


def name_the_dials(weights, window):
    inverse = 1 / weights
    own = [(n, sum(row), len(row)) for row in window.counts for n in row for _ in range(n)]
    names = {"microbatch": [n for n, _, _ in own], "rank": [n_r for _, n_r, _ in own], "window": [len(own)] * len(own),
             "nothing": [1] * len(own)}
    for ranks, factor in (("mean", len(window.counts)), ("sum", 1)):
        for microbatches, steps in (("mean", [k for _, _, k in own]), ("sum", [1] * len(own))):
            left = inverse / factor / torch.tensor(steps)
            for divisor, numbers in names.items():
                if ((left / torch.tensor(numbers) - 1).abs() < 1e-6).all():
                    return divisor, microbatches, ranks
    raise ValueError("none fits")
