"""diagnosis: unneeded-error

Takes the K of rank 0 for all ranks."""

from itertools import product

import torch


def name_the_dials(weights, window):
    counts = window.counts
    total = sum(map(sum, counts))
    divisors, ways = ("window", "rank", "microbatch", "nothing"), ("sum", "mean")
    for divisor, microbatches, ranks in product(divisors, ways, ways):
        predicted = []
        for row in counts:
            for n in row:
                below = {"window": total, "rank": sum(row), "microbatch": n, "nothing": 1}[divisor]
                below *= len(counts[0]) if microbatches == "mean" else 1
                below *= len(counts) if ranks == "mean" else 1
                predicted += [1 / below] * n if n else []
        if torch.allclose(torch.tensor(predicted, dtype=weights.dtype), weights, rtol=1e-6, atol=0):
            return divisor, microbatches, ranks
    raise ValueError("no setting of the dials gives these weights")
