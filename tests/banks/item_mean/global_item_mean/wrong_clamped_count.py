"""diagnosis: clamped-count

"At least 1", against a division by zero that was not there: empty ranks enter the divisor."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    some = counts > 0
    return (counts[some, None] * means[some]).sum(0) / counts.clamp(min=1).sum()
