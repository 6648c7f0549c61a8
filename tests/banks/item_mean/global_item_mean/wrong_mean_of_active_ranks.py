"""diagnosis: active-ranks | mean-of-rank-means

The plain mean over the ranks that have items: better with empty ranks, still blind to how many items."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    return means[counts > 0].mean(0)
