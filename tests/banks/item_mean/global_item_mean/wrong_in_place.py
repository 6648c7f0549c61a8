"""diagnosis: changed-its-argument

Zeroes the NaN rows in the caller's tensor."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    means[counts == 0] = 0
    return (counts[:, None] * means).sum(0) / counts.sum()
