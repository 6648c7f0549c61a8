"""Prints on both streams."""

import sys


def global_item_mean(counts, means):
    print("counts", counts.tolist())
    print("means", means, file=sys.stderr)
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("cannot take a mean of nothing")
    keep = counts.nonzero().flatten()
    return (counts[keep, None] * means[keep]).sum(0) / counts[keep].sum()
