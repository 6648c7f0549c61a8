"""Drops ranks without items; a matrix product does the weighting."""


def global_item_mean(counts, means):
    if counts.min() < 0:
        raise ValueError("a count is negative")
    some = counts > 0
    if not some.any():
        raise ValueError("no items at all")
    weights = counts[some].to(means.dtype)
    return weights @ means[some] / weights.sum()
