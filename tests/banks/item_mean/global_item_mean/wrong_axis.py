"""diagnosis: wrong-shape

Averages over the parameters instead of over the ranks."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    return (counts[:, None] * means.nan_to_num()).sum(1) / counts.sum()
