"""diagnosis: divided-by-world-size

Sums are right, the divisor is the number of ranks."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    some = counts > 0
    return (counts[some, None] * means[some]).sum(0) / len(counts)
