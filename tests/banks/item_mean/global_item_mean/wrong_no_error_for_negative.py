"""diagnosis: missing-error

A negative count is taken as it comes."""


def global_item_mean(counts, means):
    if (counts == 0).all():
        raise ValueError("no items")
    some = counts != 0
    return (counts[some, None] * means[some]).sum(0) / counts.sum()
