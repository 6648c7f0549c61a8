"""diagnosis: nan-or-inf | rank-lost | unexplained | wrong-answer

nan_to_num on every mean: a rank with items whose gradient really is NaN is hidden too."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    return (counts[:, None] * means.nan_to_num()).sum(0) / counts.sum()
