"""Works in float64 and stays there."""


def global_item_mean(counts, means):
    n = counts.double()
    if (n < 0).any() or n.sum() <= 0:
        raise ValueError("no items, or a negative count")
    return (n[:, None] * means.double().masked_fill((n == 0)[:, None], 0.0)).sum(0) / n.sum()
