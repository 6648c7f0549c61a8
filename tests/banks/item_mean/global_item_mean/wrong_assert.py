"""diagnosis: wrong-exception

assert raises AssertionError, and vanishes under python -O."""


def global_item_mean(counts, means):
    assert (counts >= 0).all() and counts.sum() > 0, "bad counts"
    some = counts > 0
    return (counts[some, None] * means[some]).sum(0) / counts.sum()
