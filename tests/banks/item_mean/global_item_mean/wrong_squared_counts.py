"""diagnosis: unexplained

Takes means for sums and weighs by the count twice."""


def global_item_mean(counts, means):
    if (counts < 0).any() or (counts == 0).all():
        raise ValueError("counts")
    some = counts > 0
    square = counts[some, None] ** 2
    return (square * means[some]).sum(0) / square.sum()
