"""diagnosis: sum-of-rank-means

Adds the means of the ranks and divides by nothing."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    return means[counts > 0].sum(0)
