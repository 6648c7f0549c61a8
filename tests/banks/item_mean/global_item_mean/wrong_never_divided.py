"""diagnosis: never-divided

The sum over all items, without the division."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    some = counts > 0
    return (counts[some, None] * means[some]).sum(0)
